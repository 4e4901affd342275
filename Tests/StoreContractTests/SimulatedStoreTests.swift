import Core
import Simulation
import Support
import Testing

/// What the simulation does beyond the contract: faults, delays, counters and objects of any size.
@Suite struct SimulatedStoreTests {
  private let clock = SimulatedClock()
  private let key = ObjectKey("key")
  private let anyTime = RequestContext(deadline: .distantFuture)

  private func get(
    _ store: SimulatedStore,
    _ range: ByteRange,
    into sink: CollectingSink = CollectingSink(),
    deadline: Instant = .distantFuture
  ) async -> StoreError.Kind? {
    let request = GetRequest(key: key, range: range, ifMatch: nil)
    do throws(StoreError) {
      let context = RequestContext(deadline: deadline)
      _ = try await store.get(request, into: sink, context: context)
      return nil
    } catch {
      return error.kind
    }
  }

  private func put(_ store: SimulatedStore, _ bytes: [UInt8]) async -> StoreError.Kind? {
    do throws(StoreError) {
      _ = try await store.put(PutRequest(key: key), body: .bytes(bytes), context: anyTime)
      return nil
    } catch {
      return error.kind
    }
  }

  @Test func anObjectOfAnySizeCostsNothing() async throws {
    let store = SimulatedStore()
    store.place(key, .words(size: 10 << 30))
    let sink = CollectingSink()
    #expect(await get(store, ByteRange((10 << 30) - 12, 10 << 30), into: sink) == nil)
    let last = UInt64((10 << 30) / 8 - 1)
    let words = withUnsafeBytes(of: (last - 1).littleEndian) { Array($0.suffix(4)) }
    #expect(sink.bytes == words + withUnsafeBytes(of: last.littleEndian) { Array($0) })
    let target = ObjectKey("copy")
    let source = CopySource(key: key)
    let kind = await #expect(throws: StoreError.self) {
      let request = CopyRequest(source: source, target: PutRequest(key: target))
      _ = try await store.copy(request, context: anyTime)
    }?.kind
    #expect(kind == .tooLarge)
  }

  @Test func theNthCallIsStruckAndNoOther() async {
    let fault = Fault(
      .fail(.throttled),
      operation: .putObject,
      callNumber: 2,
      callCount: 2
    )
    let store = SimulatedStore(faults: FaultPlan([fault]))
    var kinds: [StoreError.Kind?] = []
    for number in 0..<4 { kinds.append(await put(store, [UInt8(number)])) }
    #expect(kinds == [nil, .throttled, .throttled, nil])
    #expect(await get(store, ByteRange(0, 1)) == nil)
    #expect(store.faults.strikeCount == 2)
    #expect(
      store.calls.map(\.outcome) == kinds.map { $0.map { .failed($0) } ?? .succeeded } + [
        .succeeded
      ]
    )
  }

  @Test func aLostAnswerHasItsEffect() async {
    let store = SimulatedStore(faults: FaultPlan([Fault(.loseAnswer(.unreachable))]))
    #expect(await put(store, [7]) == .unreachable)
    #expect(store.bytes(at: key) == [7])
  }

  @Test func aBodyBreaksOffAfterTheBytesThatTheFaultNames() async {
    for byteCount in [1, 99, 100, 250, 999, 1000] {
      var behaviour = SimulatedStore.Behaviour()
      behaviour.bodyChunkSize = 100
      let fault = Fault(.fail(.unreachable, afterByteCount: byteCount))
      let store = SimulatedStore(faults: FaultPlan([fault]), behaviour: behaviour)
      store.place(key, .words(size: 1000))
      let sink = CollectingSink()
      #expect(await get(store, ByteRange(0, 1000), into: sink) == .unreachable)
      #expect(sink.bytes == SimulatedContent.words(size: 1000).bytes(0..<byteCount))
      #expect(store.calls.receivedByteCount == byteCount)
    }
  }

  @Test(arguments: [true, false])
  func anObjectReplacedMidwayNeverMixes(_ breaksOff: Bool) async {
    let new = SimulatedContent.text("new")
    let fault = Fault(.replaceObject(new, afterByteCount: 500, breaksOff: breaksOff))
    let store = SimulatedStore(faults: FaultPlan([fault]))
    let old = SimulatedContent.words(size: 1000, seed: 1)
    store.place(key, old)
    let sink = CollectingSink()
    let kind = await get(store, ByteRange(0, 1000), into: sink)
    #expect(kind == (breaksOff ? .preconditionFailed : nil))
    #expect(sink.bytes == old.bytes(0..<(breaksOff ? 500 : 1000)))
    #expect(store.bytes(at: key) == new.allBytes)
  }

  @Test func aCallThatHangsEndsAtItsDeadline() async {
    let store = SimulatedStore(time: clock, faults: FaultPlan([Fault(.hang())]))
    store.place(key, .words(size: 10))
    let deadline = clock.now + .seconds(30)
    async let kind = get(store, ByteRange(0, 10), deadline: deadline)
    while clock.alarmCount == 0 { await Task.yield() }
    clock.advance(by: .seconds(29))
    #expect(clock.alarmCount == 1)
    clock.advance(by: .seconds(1))
    #expect(await kind == .timedOut)
  }

  @Test func aCallThatIsHeldUpEndsWhenItIsCancelled() async {
    let store = SimulatedStore()
    store.place(key, .words(size: 10))
    let hasArrived = Gate()
    store.hook = { _, _ in
      hasArrived.open()
      await Gate().wait()
    }
    let kind = await withTaskGroup(of: StoreError.Kind?.self) { group in
      group.addTask { await get(store, ByteRange(0, 10)) }
      await hasArrived.wait()
      group.cancelAll()
      return await group.next() ?? nil
    }
    #expect(kind == .cancelled)
  }

  @Test func theHookDecidesWhenAnAnswerGoesOn() async {
    let store = SimulatedStore()
    let isDone = Gate()
    let mayGo = Gate()
    store.hook = { call, moment in
      guard call.operation == .putObject, moment == .answer else { return }
      isDone.open()
      await mayGo.wait()
    }
    async let kind = put(store, [1, 2, 3])
    await isDone.wait()
    #expect(store.bytes(at: key) == [1, 2, 3])
    #expect(store.calls.map(\.outcome) == [nil])
    mayGo.open()
    #expect(await kind == nil)
    #expect(store.calls.sentByteCount == 3)
  }

  @Test func exhaustingFaultsStrikesEachCallOnce() async throws {
    let struckCount = try await exhaustFaults { plan in
      let store = SimulatedStore(faults: plan)
      var tries = 0
      for byte: UInt8 in 1...3 {
        repeat { tries += 1 } while await put(store, [byte]) != nil
      }
      #expect(tries == 3 + plan.strikeCount)
      #expect(store.bytes(at: key) == [3])
    }
    // Three calls, each without its effect and each without its answer.
    #expect(struckCount == 6)
  }

  @Test func theClockRunsWhatFallsDueInOrder() async {
    let order = Lock([Int]())
    clock.schedule(at: clock.now + .seconds(2)) { order.withLock { $0.append(2) } }
    clock.schedule(at: clock.now + .seconds(1)) { order.withLock { $0.append(1) } }
    let token = clock.schedule(at: clock.now + .seconds(1)) { order.withLock { $0.append(9) } }
    clock.cancel(token)
    clock.schedule(at: clock.now) { order.withLock { $0.append(0) } }
    let wallTime = clock.wallTime
    clock.advance(by: .seconds(3))
    #expect(order.withLock { $0 } == [0, 1, 2])
    #expect(clock.wallTime.nanoseconds - wallTime.nanoseconds == 3_000_000_000)
    await clock.sleep(until: clock.now)
  }
}
