import Core
import Filesystem
import Simulation
import Support
import Testing

/// Directories of many pages at a store that takes its time.
@Suite struct LargeListingTests {
  private static let pageLatency = Duration.milliseconds(20)
  private let names = (0..<1_000).map { "f\($0.padded(6))" }

  /// A mount of pages of 50, each of which takes 20 ms.
  private func mount(_ options: FilesystemOptions = FilesystemOptions()) throws -> TestMount {
    var behaviour = SimulatedStore.Behaviour()
    behaviour.pageCountMax = 50
    let mount = try TestMount(options: options, behaviour: behaviour)
    for name in names { mount.place(name) }
    let clock = mount.clock
    mount.store.hook = { _, moment in
      if moment == .request { clock.advance(by: Self.pageLatency) }
    }
    return mount
  }

  @Test func n5ALargeDirectoryOfASlowStoreIsListedInFewRounds() async throws {
    let mount = try mount()
    let (clock, store) = (mount.clock, mount.store)
    let (held, gate) = (Lock(0), Gate())
    store.hook = { call, moment in
      guard moment == .request, call.operation == .listObjects else { return }
      clock.advance(by: Self.pageLatency)
      // The third and those beside it wait for each other.
      let number = held.withLock { held in
        held += 1
        return held
      }
      if number == 6 { gate.open() }
      if (3...6).contains(number) { await gate.wait() }
    }
    #expect(try await mount.names() == names)
    #expect(store.calls.of(.listObjects).count <= 20 + 2 + ListingRuns.lossMax)
    // All of it is known.
    store.forgetCalls()
    #expect(try await mount.lookup("f000777").node != nil)
    #expect(try await mount.lookup("f001777").node == nil)
    #expect(store.calls.isEmpty)
  }

  @Test func namesComeInOrderAndPositionsAreStable() async throws {
    let mount = try mount()
    let handle = try await mount.openDirectory(.root)
    let all = try await mount.entries(handle, perAnswer: 100)
    #expect(all.map(\.name.description) == [".", ".."] + names)
    #expect(try await mount.entries(handle, perAnswer: 100) == all)
  }

  @Test func whateverRequestFailsNothingIsSilentlyMissing() async throws {
    var completeCount = 0
    for callNumber in 1...32 {
      let mount = try mount()
      mount.store.faults.add(
        Fault(.fail(.accessDenied), operation: .listObjects, callNumber: callNumber)
      )
      do {
        #expect(try await mount.names() == names, "call \(callNumber)")
        completeCount += 1
      } catch let error as FileError {
        #expect(error.code == .accessDenied, "call \(callNumber)")
      }
    }
    #expect(completeCount > 2, "a guess that fails is done without")
  }
}
