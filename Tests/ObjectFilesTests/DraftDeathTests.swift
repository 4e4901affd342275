import Core
import ObjectFiles
import Simulation
import Support
import Testing

/// A process dies at any step of a close, an `fsync` or an unmount, and the next mount meets a fault, or a full
/// disk, or dies as well: what was written is stored in the end, once, and nothing is left behind.
@Suite struct DraftDeathTests {
  private static let key = ObjectKey("file")
  private static let partSize = 16 << 10

  private static var settings: Drafts.Settings {
    var settings = DraftBench.settings
    settings.partSize = partSize
    settings.parallel = 1
    return settings
  }

  /// What nobody asked for belongs to the process that `second` lets die.
  private func bench(_ second: Lock<Death?>) throws -> DraftBench {
    var behaviour = SimulatedStore.Behaviour()
    behaviour.partSizeMin = Self.partSize
    behaviour.keepsChecksums = true
    behaviour.tagsAreDigests = true
    let bench = try DraftBench(settings: Self.settings, behaviour: behaviour)
    bench.store.hook = { call, _ in
      // What it answers has been taken by then, and others go on with it.
      guard call.operation != .getObject else { return }
      await (Death.current ?? second.withLock { $0 })?.pass()
    }
    return bench
  }

  /// How what was written is brought to the store.
  enum Ending: CaseIterable {
    case close, unmount
  }

  private typealias Program = @Sendable (DraftBench) throws -> (Draft, [UInt8])

  private static let small: Program = { bench in
    let draft = try bench.drafts.create(key)
    try draft.write("small", at: 0)
    return (draft, Array("small".utf8))
  }

  private static let large: Program = { bench in
    let content = SimulatedContent.words(size: 5 * partSize / 2, seed: 4).allBytes
    let draft = try bench.drafts.create(key)
    try draft.write(content, at: 0)
    return (draft, content)
  }

  private static let edited: Program = { bench in
    var content = SimulatedContent.words(size: 4 * partSize, seed: 4).allBytes
    bench.store.place(key, .bytes(content))
    let draft = try bench.drafts.edit(try #require(bench.store.metadata(at: key)))
    try draft.write([1, 2, 3], at: 2 * partSize)
    content.replaceSubrange(2 * partSize..<2 * partSize + 3, with: [1, 2, 3])
    return (draft, content)
  }

  private struct Wrong: Error, CustomStringConvertible {
    let description: String
  }

  /// What a dead process has left.
  private struct Dead {
    let bench: DraftBench
    let content: [UInt8]
    let death: Death
    /// The end of the next process.
    let second: Lock<Death?>
  }

  /// Lets a process die at a step.
  ///
  /// - Returns: nil if it came to its end before.
  private func dead(
    at step: Int,
    _ ending: Ending,
    _ program: @escaping Program
  ) async throws -> Dead? {
    let second = Lock(Death?.none)
    let bench = try bench(second)
    let death = Death(at: step)
    let (isWritten, content) = (Gate(), Lock([UInt8]()))
    let running = Death.$current.withValue(death) {
      Task {
        // What is sent early dies with the rest.
        let written = try? program(bench)
        // What was written last is in the journal only then.
        written?.0.setModified(Timestamp(seconds: 12))
        content.withLock { $0 = written?.1 ?? [] }
        isWritten.open()
        guard let (draft, _) = written else { return }
        switch ending {
        case .close: _ = await draft.publish()
        case .unmount: _ = await bench.drafts.finish()
        }
      }
    }
    await isWritten.wait()
    #expect(content.withLock { !$0.isEmpty })
    guard await death.comes(before: running) else { return nil }
    return Dead(bench: bench, content: content.withLock { $0 }, death: death, second: second)
  }

  /// The next mount takes over what is there, and has stored it, failed, or been killed.
  private func recover(_ bench: DraftBench) async {
    let found = (try? await bench.drafts.recover()) ?? []
    guard !found.isEmpty else { return }
    // By then it has been written down, too.
    while !Task.isCancelled, bench.observer.failures.withLock({ $0.isEmpty }),
      bench.observer.published.withLock({ $0.isEmpty })
    {
      await testTimers.sleep(until: SystemClock().now + .milliseconds(1))
    }
  }

  /// The mount after that, to which nothing happens.
  ///
  /// With `isDiskOld` the disk may not know that the store has it, and then must not bring older bytes there.
  private func check(
    _ bench: DraftBench,
    _ content: [UInt8],
    isDiskOld: Bool = false
  ) async throws {
    let last = try bench.remounted(Self.settings)
    _ = try await last.drafts.recover()
    let left = await last.drafts.finish()
    let isConflict = left.allSatisfy { $0.failure?.code == .exists || $0.failure?.code == .stale }
    if isDiskOld, isConflict, bench.store.bytes(at: Self.key) == content { return }
    guard left.isEmpty else { throw Wrong(description: "left: \(left.compactMap(\.failure))") }
    guard bench.store.bytes(at: Self.key) == content else {
      throw Wrong(description: "other bytes are stored")
    }
    if !(await eventually { bench.directory.names("staged").isEmpty }) {
      throw Wrong(description: "drafts are left: \(bench.directory.names("staged"))")
    }
    // Of an upload whose id never arrived nobody can know that it is there.
    let unknownCount = bench.store.calls.of(.createMultipartUpload)
      .count { $0.outcome != .succeeded }
    if !(await eventually { bench.store.openUploads.count <= unknownCount }) {
      throw Wrong(description: "uploads are left: \(bench.store.openUploads)")
    }
  }

  @Test(arguments: Ending.allCases)
  func w4AFaultWhileRecoveringFromADeathLosesNothing(ending: Ending) async throws {
    for program in [Self.small, Self.large, Self.edited] {
      for effect in [Fault.Effect.fail(.unreachable), .loseAnswer(.unreachable)] {
        var step = 1
        var callNumber = 1
        while let dead = try await dead(at: step, ending, program) {
          defer { dead.death.end() }
          dead.bench.store.faults.add(Fault(effect, callNumber: callNumber))
          let struck = try dead.bench.remounted(Self.settings)
          await recover(struck)
          let wasStruck = dead.bench.store.faults.strikeCount > 0
          dead.bench.store.faults.clear()
          do { try await check(dead.bench, dead.content) } catch {
            let when = "killed at step \(step), then \(effect) at call \(callNumber)"
            throw Wrong(description: "\(when): \(error)")
          }
          (step, callNumber) = wasStruck ? (step, callNumber + 1) : (step + 1, 1)
        }
        #expect(step > 2)
      }
    }
  }

  @Test func w4ADeathWhileRecoveringFromADeathLosesNothing() async throws {
    for program in [Self.small, Self.large, Self.edited] {
      var step = 1
      var next = 1
      while let dead = try await dead(at: step, .close, program) {
        defer { dead.death.end() }
        let death = Death(at: next)
        dead.second.withLock { $0 = death }
        let bench = try dead.bench.remounted(Self.settings)
        let running = Task { await recover(bench) }
        let hasDied = await death.comes(before: running)
        running.cancel()
        dead.second.withLock { $0 = nil }
        do { try await check(dead.bench, dead.content) } catch {
          throw Wrong(description: "killed at step \(step) and again at \(next): \(error)")
        }
        death.end()
        (step, next) = hasDied ? (step, next + 1) : (step + 1, 1)
      }
      #expect(step > 2)
    }
  }

  @Test func w4ADiskThatFailsWhileRecoveringFromADeathLosesNothing() async throws {
    for program in [Self.small, Self.edited] {
      var step = 1
      var lastStep = 0
      while let dead = try await dead(at: step, .close, program) {
        defer { dead.death.end() }
        let disk = DyingDisk(after: lastStep)
        let bench = try dead.bench.remounted(Self.settings, diskFaults: disk.faults)
        await recover(bench)
        do { try await check(dead.bench, dead.content, isDiskOld: disk.isDead) } catch {
          throw Wrong(description: "killed at \(step), disk fails after \(lastStep): \(error)")
        }
        (step, lastStep) = disk.isDead ? (step, lastStep + 1) : (step + 1, 0)
      }
      #expect(step > 2)
    }
  }
}
