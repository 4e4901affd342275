import Core
import Filesystem
import Simulation
import Support
import Testing

/// Programs that walk a tree.
@Suite struct WalkTests {
  /// Lists a directory and all below it, each before what is in it or after its siblings.
  private func walk(
    _ mount: TestMount,
    isBreadthFirst: Bool = false,
    onEach visit: (String) async throws -> Void = { _ in }
  ) async throws -> [String: [String]] {
    var found: [String: [String]] = [:]
    var pending: [(path: String, node: NodeID)] = [("", .root)]
    while !pending.isEmpty {
      let (path, node) = isBreadthFirst ? pending.removeFirst() : pending.removeLast()
      try await visit(path)
      let handle = try await mount.openDirectory(node)
      let entries = try await mount.entries(handle, perAnswer: 100)
        .filter { $0.name != FileName(".") && $0.name != FileName("..") }
      mount.bucket.releaseDirectory(handle, reply: Asked<EmptyAnswer>().reply())
      found[path] = entries.map(\.name.description).sorted()
      var children: [(String, NodeID)] = []
      for entry in entries where entry.kind == .directory {
        let child = try await mount.lookup(entry.name.description, in: node)
        children.append((path + entry.name.description + "/", try #require(child.node)))
      }
      pending += isBreadthFirst ? children : children.reversed()
    }
    return found
  }

  /// What a walk must find.
  private func tree(_ keys: [String]) -> [String: [String]] {
    var tree: [String: Set<String>] = ["": []]
    for key in keys {
      var path = ""
      for part in key.split(separator: "/") {
        tree[path, default: []].insert(String(part))
        path += part + "/"
      }
      tree[path] = nil
    }
    return tree.mapValues { $0.sorted() }
  }

  private func place(_ keys: [String], in mount: TestMount) {
    for key in keys { mount.place(key) }
  }

  private let many = (0..<500).flatMap { directory in
    (0..<20).map { "d\(directory.padded(3))/f\($0.padded(2))" }
  }

  @Test(arguments: [false, true])
  func n5AWalkOfManySmallDirectoriesTakesFewListings(isTreeOrder: Bool) async throws {
    var behaviour = SimulatedStore.Behaviour()
    behaviour.listsInTreeOrder = isTreeOrder
    let mount = try TestMount(behaviour: behaviour)
    place(many, in: mount)
    let found = try await walk(mount)
    #expect(found == tree(many))
    let listings = mount.store.calls.of(.listObjects)
    #expect(listings.count <= 30, "\(listings.count) listings of 501 directories")
    #expect(mount.store.calls.count == listings.count, "and nothing else is asked")
    // What was walked answers for its names.
    mount.store.forgetCalls()
    let last = try await mount.node("d499")
    #expect(try await mount.lookup("f19", in: last).node != nil)
    #expect(try await mount.lookup("f20", in: last).node == nil)
    #expect(mount.store.calls.isEmpty)
  }

  /// Directories are cut by the ends of pages in every possible way.
  @Test(arguments: [1, 2, 3, 7, 10, 1000], [false, true])
  func n5AWalkFindsEverythingHoweverPagesAreCut(
    pageCountMax: Int,
    isTreeOrder: Bool
  ) async throws {
    var keys = ["top", "x/only/deep/er/file"]
    for directory in 0..<12 {
      for number in 0..<(directory % 5 + 1) { keys.append("d\(directory.padded(2))/f\(number)") }
      for inner in 0..<(directory % 3) { keys.append("d\(directory.padded(2))/s-\(inner)/g") }
      for inner in 0..<(directory % 4) { keys.append("d\(directory.padded(2))/s/t\(inner)/g") }
      if directory % 4 == 0 { keys.append("d\(directory.padded(2))-more/f") }
    }
    var behaviour = SimulatedStore.Behaviour()
    behaviour.listsInTreeOrder = isTreeOrder
    behaviour.pageCountMax = pageCountMax
    for isBreadthFirst in [false, true] {
      let mount = try TestMount(behaviour: behaviour)
      place(keys, in: mount)
      #expect(try await walk(mount, isBreadthFirst: isBreadthFirst) == tree(keys))
    }
  }

  @Test func aHugeDirectoryOnTheWayEndsTheFlatListing() async throws {
    var keys = many.filter { $0 < "d010" }
    keys += (0..<5000).map { "d005/sub/deep/g\($0.padded(4))" }
    let mount = try TestMount()
    place(keys, in: mount)
    // Only the surface is walked, as `find -maxdepth 2` does.
    for name in try await mount.names() { _ = try await mount.names(try await mount.node(name)) }
    #expect(mount.store.calls.of(.listObjects).count <= 1 + 10 + WalkPolicy.creditPageCount)
  }

  @Test(arguments: [999, 1000])
  func whatWouldBeOutOfDateAtOnceIsNotFetched(milliseconds: Int) async throws {
    var options = FilesystemOptions()
    options.metadataTTL = .milliseconds(milliseconds)
    let mount = try TestMount(options: options)
    place(many.filter { $0 < "d020" }, in: mount)
    _ = try await walk(mount)
    let listings = mount.store.calls.of(.listObjects)
    if milliseconds < 1000 {
      #expect(listings.count == 21, "each directory is listed")
    } else {
      #expect(listings.count < 21)
    }
  }

  @Test func aWalkThatStopsFetchesNoMore() async throws {
    let mount = try TestMount()
    place(many, in: mount)
    let names = try await mount.names()
    for name in names.prefix(5) { _ = try await mount.names(try await mount.node(name)) }
    #expect(mount.store.calls.of(.listObjects).count <= 1 + 3 + 4)
  }

  @Test func whatLiesReadyIsNotBelievedForLonger() async throws {
    let mount = try TestMount()
    place(many.filter { $0 < "d020" }, in: mount)
    let names = try await mount.names()
    for name in names.prefix(6) { _ = try await mount.names(try await mount.node(name)) }
    mount.place("d010/new")
    mount.clock.advance(by: .seconds(11))
    #expect(try await mount.names(try await mount.node("d010")).contains("new"))
    // Nor is it if somebody said that nothing is to be believed.
    for name in names.prefix(6) { _ = try await mount.names(try await mount.node(name)) }
    mount.place("d011/new")
    mount.bucket.invalidateAll()
    #expect(try await mount.names(try await mount.node("d011")).contains("new"))
  }

  @Test func aFlatListingThatFailsIsDoneWithout() async throws {
    for callNumber in 5...8 {
      var behaviour = SimulatedStore.Behaviour()
      behaviour.pageCountMax = 60
      let mount = try TestMount(behaviour: behaviour)
      let keys = many.filter { $0 < "d020" }
      place(keys, in: mount)
      mount.store.faults.add(
        Fault(.fail(.accessDenied), operation: .listObjects, callNumber: callNumber)
      )
      #expect(try await walk(mount) == tree(keys), "call \(callNumber)")
    }
  }

  @Test func o3WhatAWalkHasReadyIsPartOfTheMemory() async throws {
    var options = FilesystemOptions()
    options.listingMemoryMax = 60_000
    let budget = MemoryBudget(limit: 1 << 20)
    let mount = try TestMount(options: options, memory: budget)
    place(many, in: mount)
    let found = try await walk(mount) { _ in #expect(budget.usedByteCount < 120_000) }
    #expect(found == tree(many))
  }
}
