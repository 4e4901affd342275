import Core
import Filesystem
import Simulation
import Support
import Testing

/// A renaming that could neither be finished nor taken back doesn't wait for the next mount
/// (docs/semantics.md, C3).
@Suite struct UnfinishedRenamingTests {
  private func mount(
    delay: Duration = .milliseconds(5),
    store: SimulatedStore? = nil,
    directory: TestDirectory
  ) throws -> TestMount {
    var options = FilesystemOptions()
    options.renamingDelay = delay
    return try TestMount(options: options, store: store, writesIn: directory)
  }

  private func files(_ mount: TestMount) -> [String] {
    mount.store.keys.map(\.description).filter { !$0.hasSuffix("/") }
  }

  @Test func c3WhatCouldNotBeFinishedIsTriedAgainByTheSameMount() async throws {
    let mount = try mount(directory: try TestDirectory())
    for name in ["a", "b"] { mount.place("d/\(name)", name) }
    _ = try await mount.names(try await mount.node("d"))
    // The first is deleted, and then nothing more can be.
    let store = mount.store
    let isGone = Lock(false)
    store.hook = { call, moment in
      guard call.operation == .deleteObjects, moment == .answer else { return }
      isGone.withLock { isGone in
        guard !isGone else { return }
        isGone = true
        store.place(ObjectKey("d/late"), .text("late"))
        for operation in [StoreOperation.copyObject, .deleteObjects, .deleteObject] {
          store.faults.add(Fault(.fail(.accessDenied), operation: operation, callCount: .max))
        }
      }
    }
    await #expect(throws: FileError.self) { try await mount.rename("d", to: "e") }
    // Whoever is at it meanwhile has its journal.
    try await eventually("its journal") { mount.bucket.unfinishedRenamings.count == 1 }
    // It fails again and again, and is told each time.
    try await eventually("the second try") { store.calls.of(.copyObject).count > 4 }
    try await eventually("its journal") { mount.bucket.unfinishedRenamings.count == 1 }
    store.faults.clear()
    try await eventually("the end") { files(mount) == ["e/a", "e/b", "e/late"] }
    try await eventually("no journal") { mount.bucket.unfinishedRenamings.isEmpty }
    #expect(mount.errors.all.contains { $0.operation == "rename" })
  }

  @Test func c1WhatTheNextMountCannotFinishAtOnceItFinishesLater() async throws {
    let directory = try TestDirectory()
    let mount = try mount(delay: .seconds(3600), directory: directory)
    mount.place("f", "text")
    _ = try await mount.node("f")
    let death = Death(at: 3)
    mount.store.hook = { call, _ in
      if [.copyObject, .deleteObject].contains(call.operation) { await Death.current?.pass() }
    }
    let dying = Death.$current.withValue(death) {
      Task { () async -> Void in try? await mount.rename("f", to: "g") }
    }
    #expect(await death.comes(before: dying))
    defer { death.end() }
    mount.store.faults.add(Fault(.fail(.unreachable), callCount: .max))
    let next = try self.mount(store: mount.store, directory: directory)
    next.bucket.startRecoveringRenamings()
    try await eventually("a failure") { !next.errors.all.isEmpty }
    #expect(next.bucket.unfinishedRenamings.count == 1 && files(mount) == ["f", "g"])
    mount.store.faults.clear()
    try await eventually("the end") { files(mount) == ["g"] }
    try await eventually("no journal") { next.bucket.unfinishedRenamings.isEmpty }
  }
}
