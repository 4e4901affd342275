import Core
import Simulation
import Testing
import Transfer

private let mebibyte = 1 << 20
private let start = Instant(nanoseconds: 0)

@Suite struct DownloadMachineTests {
  private func machine(size: Int = 64 * mebibyte) -> DownloadMachine {
    DownloadMachine(size: size, recorded: ByteRangeSet())
  }

  private func starts(_ actions: [DownloadMachine.Action]) -> [ByteRange] {
    actions.compactMap { action in
      guard case .start(_, let range, _) = action else { return nil }
      return range
    }
  }

  @Test func twoReadersOfTheSameBytesShareAFlight() {
    var machine = machine()
    let part = ByteRange(0, 8 * mebibyte)
    let plan = FetchPlan(demand: [part])
    let first = machine.requested(by: WaitID(1), ByteRange(0, 4096), plan: plan, now: start)
    #expect(starts(first) == [part])
    let second = machine.requested(by: WaitID(2), ByteRange(2048, 8192), plan: plan, now: start)
    #expect(second == [])
    let advance = machine.advanced(machine.flights[0].id, to: 8192)
    #expect(advance?.served == [WaitID(1), WaitID(2)])
  }

  @Test func onlyTheGapsOfADemandAreStarted() {
    var machine = machine()
    _ = machine.wanted(ahead: [ByteRange(100, 200)])
    let actions = machine.requested(
      by: WaitID(1),
      ByteRange(0, 300),
      plan: FetchPlan(demand: [ByteRange(0, 400)]),
      now: start
    )
    #expect(starts(actions) == [ByteRange(0, 100), ByteRange(200, 400)])
    #expect(actions.contains(.promote(machine.flights[0].id)))
  }

  @Test func r3AReaderIsServedBeforeItsPartEnds() {
    var machine = machine()
    let part = ByteRange(0, 8 * mebibyte)
    _ = machine.requested(
      by: WaitID(1),
      ByteRange(0, 4096),
      plan: FetchPlan(demand: [part]),
      now: start
    )
    let id = machine.flights[0].id
    #expect(machine.advanced(id, to: 4095)?.served == [])
    #expect(machine.advanced(id, to: 4096)?.served == [WaitID(1)])
    #expect(machine.flights.count == 1)
  }

  @Test func r3ADemandFarAheadInAFlightCutsIt() {
    var machine = machine()
    let part = ByteRange(0, 8 * mebibyte)
    _ = machine.wanted(ahead: [part])
    let id = machine.flights[0].id
    machine.started(id, at: start)
    _ = machine.advanced(id, to: 4096)
    let wanted = ByteRange(offset: 6 * mebibyte, count: 4096)
    let actions = machine.requested(
      by: WaitID(1),
      wanted,
      plan: FetchPlan(demand: [wanted]),
      now: start + .seconds(1)
    )
    #expect(starts(actions) == [ByteRange(6 * mebibyte, 8 * mebibyte)])
    #expect(machine.advanced(id, to: 7 * mebibyte)?.mark == 6 * mebibyte)
    #expect(machine.advanced(id, to: 7 * mebibyte)?.isComplete == true)
    machine.checkInvariants()
  }

  @Test func failureFailsExactlyThoseWhoCountedOnTheFlight() {
    var machine = machine()
    _ = machine.requested(
      by: WaitID(1),
      ByteRange(0, 100),
      plan: FetchPlan(demand: [ByteRange(0, 100)]),
      now: start
    )
    _ = machine.requested(
      by: WaitID(2),
      ByteRange(100, 200),
      plan: FetchPlan(demand: [ByteRange(100, 200)]),
      now: start
    )
    let error = StoreError(.accessDenied, .getObject, message: "no")
    let actions = machine.ended(machine.flights[0].id, .failed(error), now: start)
    #expect(actions == [.fail(WaitID(1), .store(error))])
    #expect(machine.advanced(machine.flights[0].id, to: 200)?.served == [WaitID(2)])
  }

  @Test func aGuessThatFailedIsTriedAgainForAReader() {
    var machine = machine()
    _ = machine.wanted(ahead: [ByteRange(0, 1000)])
    let plan = FetchPlan(demand: [ByteRange(0, 100)])
    _ = machine.requested(by: WaitID(1), ByteRange(0, 100), plan: plan, now: start)
    let error = StoreError(.unreachable, .getObject, message: "reset")
    let again = machine.ended(machine.flights[0].id, .failed(error), now: start)
    #expect(starts(again) == [ByteRange(0, 1000)])
    let actions = machine.ended(machine.flights[0].id, .failed(error), now: start)
    #expect(actions == [.fail(WaitID(1), .store(error))])
  }

  @Test func r1AChangedObjectFailsAllThatIsNotOnDisk() {
    var machine = machine()
    let plan = FetchPlan(demand: [ByteRange(0, 100)], ahead: [ByteRange(100, 200)])
    _ = machine.requested(by: WaitID(1), ByteRange(0, 100), plan: plan, now: start)
    _ = machine.advanced(machine.flights[0].id, to: 50)
    let error = StoreError(.preconditionFailed, .getObject, message: "changed")
    let second = machine.flights[1].id
    let actions = machine.ended(machine.flights[0].id, .failed(error), now: start)
    #expect(actions == [.cancel(second), .fail(WaitID(1), .changed(error))])
    let here = machine.requested(by: WaitID(2), ByteRange(0, 50), plan: plan, now: start)
    #expect(here == [.serve(WaitID(2))])
    let gone = machine.requested(by: WaitID(3), ByteRange(40, 60), plan: plan, now: start)
    #expect(gone == [.fail(WaitID(3), .changed(error))])
  }

  @Test func r2AWrongGuessStopsTheGuessing() {
    var machine = machine()
    let ahead = (0..<4).map { ByteRange(offset: $0 * 8 * mebibyte, count: 8 * mebibyte) }
    _ = machine.wanted(ahead: ahead)
    machine.started(machine.flights[0].id, at: start)
    _ = machine.advanced(machine.flights[0].id, to: 8 * mebibyte - 1000)
    let rest = machine.flights[1...].map(\.id)
    let cancelled = machine.abandoned(ahead)
    #expect(cancelled == rest.map { .cancel($0) }, "only the one that is almost done goes on")
  }

  @Test func demandThatAFastFlightReachesSoonWaitsForIt() {
    var machine = machine()
    let part = ByteRange(0, 32 * mebibyte)
    _ = machine.wanted(ahead: [part])
    machine.started(machine.flights[0].id, at: start)
    _ = machine.advanced(machine.flights[0].id, to: 4 * mebibyte)
    // 4 MiB in 100 ms: 10 MiB more take 250 ms.
    let now = start + .milliseconds(100)
    let near = ByteRange(13 * mebibyte, 13 * mebibyte + 4096)
    let plan = FetchPlan(demand: [near])
    #expect(starts(machine.requested(by: WaitID(1), near, plan: plan, now: now)) == [])
    let far = ByteRange(15 * mebibyte, 15 * mebibyte + 4096)
    let actions = machine.requested(by: WaitID(2), far, plan: FetchPlan(demand: [far]), now: now)
    #expect(starts(actions) == [ByteRange(15 * mebibyte, 32 * mebibyte)])
    machine.checkInvariants()
  }

  @Test func aReaderThatGoesForwardWaitsForWhatLiesBetween() {
    var machine = machine()
    let part = ByteRange(0, 32 * mebibyte)
    _ = machine.wanted(ahead: [part])
    let near = ByteRange(8 * mebibyte, 8 * mebibyte + 4096)
    let plan = FetchPlan(demand: [near], isInOrder: true)
    // Nobody knows yet how fast it is.
    #expect(starts(machine.requested(by: WaitID(1), near, plan: plan, now: start)) == [])
    machine.started(machine.flights[0].id, at: start)
    #expect(starts(machine.requested(by: WaitID(2), near, plan: plan, now: start)) == [])
    _ = machine.advanced(machine.flights[0].id, to: 2 * mebibyte)
    // 2 MiB in 2 s: the reader would wait for 6 more.
    let now = start + .seconds(2)
    let actions = machine.requested(by: WaitID(3), near, plan: plan, now: now)
    #expect(starts(actions) == [ByteRange(8 * mebibyte, 32 * mebibyte)])
    machine.checkInvariants()
  }

  @Test func r2WhatIsAllAskedForIsNotAskedForAgainHoweverSlowItIs() {
    var machine = machine()
    _ = machine.wanted(ahead: [ByteRange(0, 8 * mebibyte)])
    machine.started(machine.flights[0].id, at: start)
    _ = machine.advanced(machine.flights[0].id, to: mebibyte)
    // 1 MiB in 10 s, and the kernel reads ahead of the reader in pieces, not quite in order.
    let now = start + .seconds(10)
    let half = mebibyte / 2
    for (number, piece) in [2, 4, 3, 6, 5, 7, 9, 8].enumerated() {
      let range = ByteRange(offset: piece * half, count: half)
      let plan = FetchPlan(demand: [range], isInOrder: true)
      let id = WaitID(UInt64(number))
      #expect(starts(machine.requested(by: id, range, plan: plan, now: now)) == [])
    }
    // Who jumps over what nobody has asked for doesn't wait for it.
    let far = ByteRange(offset: 7 * mebibyte, count: half)
    let plan = FetchPlan(demand: [far], isInOrder: true)
    let actions = machine.requested(by: WaitID(9), far, plan: plan, now: now)
    #expect(starts(actions) == [ByteRange(7 * mebibyte, 8 * mebibyte)])
    machine.checkInvariants()
  }

  @Test(arguments: 0..<200) func randomEventsLoseNoWaiter(seed: UInt64) {
    var random = Seeded(seed)
    let size = 10_000
    var limits = DownloadMachine.Limits()
    limits.farAhead = 500
    limits.worthFinishing = 300
    limits.worthFinishingAhead = 100
    var recorded = ByteRangeSet()
    for _ in 0..<3 { recorded.insert(Self.range(in: size, &random)) }
    var machine = DownloadMachine(size: size, recorded: recorded, limits: limits)
    var waiting = Set<WaitID>()
    for step in 0..<300 {
      let actions: [DownloadMachine.Action]
      switch Int.random(in: 0..<10, using: &random) {
      case 0...2:
        let range = Self.range(in: size, &random)
        for part in recorded.ranges where part.overlaps(range) {
          if Bool.random(using: &random) { machine.verified(part) } else { machine.rejected(part) }
        }
        waiting.insert(WaitID(UInt64(step)))
        let plan = FetchPlan(
          demand: [Self.range(in: size, &random)],
          ahead: [Self.range(in: size, &random)]
        )
        actions = machine.requested(by: WaitID(UInt64(step)), range, plan: plan, now: start)
      case 3...6:
        guard let flight = machine.flights.randomElement(using: &random) else { continue }
        machine.started(flight.id, at: start)
        let offset = flight.mark + Int.random(in: 0...400, using: &random)
        let advance = machine.advanced(flight.id, to: offset)
        actions = advance?.served.map { .serve($0) } ?? []
      case 7:
        guard let flight = machine.flights.randomElement(using: &random) else { continue }
        let kind: StoreError.Kind = Bool.random(using: &random) ? .unreachable : .accessDenied
        actions = machine.ended(
          flight.id,
          flight.remaining.isEmpty
            ? .finished : .failed(StoreError(kind, .getObject, message: "seeded")),
          now: start
        )
      case 8:
        guard let id = waiting.randomElement(using: &random) else { continue }
        waiting.remove(id)
        actions = machine.waiterCancelled(id)
      default:
        actions = machine.abandoned([Self.range(in: size, &random)])
      }
      for case .serve(let id) in actions {
        #expect(waiting.remove(id) != nil, "seed \(seed): \(id) was served twice")
      }
      for case .fail(let id, _) in actions {
        #expect(waiting.remove(id) != nil, "seed \(seed): \(id) was told twice")
      }
      machine.checkInvariants()
    }
    let rest = machine.closed()
    for case .fail(let id, _) in rest { waiting.remove(id) }
    #expect(waiting.isEmpty, "seed \(seed): nobody told \(waiting)")
  }

  private static func range(in size: Int, _ random: inout Seeded) -> ByteRange {
    let lower = Int.random(in: 0..<size, using: &random)
    return ByteRange(lower, Int.random(in: lower + 1...min(size, lower + 2000), using: &random))
  }
}
