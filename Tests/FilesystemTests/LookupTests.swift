import Core
import Filesystem
import Simulation
import Support
import Testing

@Suite struct LookupTests {
  @Test func aFileIsFoundWithItsFacts() async throws {
    let mount = try TestMount()
    mount.place("a/b.txt", "hello")
    let answer = try await mount.lookup("b.txt", in: try await mount.node("a"))
    let attributes = try #require(answer.attributes)
    #expect(attributes.kind == .file)
    #expect(attributes.size == 5)
    #expect(attributes.permissions == 0o644)
    #expect(attributes.linkCount == 1)
    #expect(answer.entryTimeout == .seconds(10))
  }

  @Test func aNameThatIsNotThereIsANegativeAnswerThatMayBeKept() async throws {
    let mount = try TestMount()
    let answer = try await mount.lookup("nothing")
    #expect(answer.node == nil)
    #expect(answer.entryTimeout == .seconds(10))
    mount.store.forgetCalls()
    #expect(mount.startLookup("nothing").outcome != nil, "it is known now")
    #expect(mount.store.calls.isEmpty)
  }

  @Test func manyNamesInADirectoryThatNobodyListedAreAnsweredByOneListing() async throws {
    let mount = try TestMount()
    mount.place("d/f")
    let directory = try await mount.node("d")
    mount.store.forgetCalls()
    for index in 0..<9 {
      #expect(try await mount.lookup("n\(index)", in: directory).node == nil)
    }
    try await eventually("a listing was made beside") {
      mount.startLookup("m", in: directory).outcome != nil
    }
    mount.store.forgetCalls()
    for index in 9..<100 {
      #expect(try await mount.lookup("n\(index)", in: directory).node == nil)
    }
    #expect(try await mount.lookup("f", in: directory).node != nil)
    #expect(mount.store.calls.isEmpty)
  }

  @Test func aLongDirectoryThatNobodyListedIsNotListedForAFewNames() async throws {
    let mount = try TestMount()
    for index in 0..<20_000 { mount.place("d/f\(index)") }
    let directory = try await mount.node("d")
    mount.store.forgetCalls()
    for index in 0..<9 {
      #expect(try await mount.lookup("n\(index)", in: directory).node == nil)
    }
    try await eventually("it was given up after what nine names cost") {
      mount.store.calls.of(.listObjects).count >= 9 + 16
    }
    // The next names are asked for one by one, and no page more comes than was on its way.
    for index in 9..<12 { _ = try await mount.lookup("n\(index)", in: directory) }
    #expect(mount.store.calls.of(.listObjects).count <= 9 + 18 + 3)
  }

  @Test func aNameThatNoKeyCanHaveIsAbsentWithoutARequest() async throws {
    let mount = try TestMount()
    mount.place("f")
    let names = [String](repeating: String(repeating: "d", count: 200), count: 5)
    let path = names.joined(separator: "/")
    mount.place(path + "/f")
    let directory = try await mount.node(path)
    mount.store.forgetCalls()
    // The mount's own key would be empty, and the other one too long by a byte.
    #expect(try await mount.lookup("%dipper-object%").node == nil)
    #expect(try await mount.lookup(String(repeating: "x", count: 20), in: directory).node == nil)
    #expect(mount.store.calls.isEmpty)
    #expect(try await mount.lookup(String(repeating: "x", count: 19), in: directory).node == nil)
    #expect(!mount.store.calls.isEmpty)
  }

  @Test func aColdLookupIsOneRoundTripOfTwoRequests() async throws {
    let mount = try TestMount()
    mount.place("f")
    let gate = Gate()
    mount.store.hook = { _, moment in if moment == .request { await gate.wait() } }
    let asked = mount.startLookup("f")
    try await eventually("both are under way") { mount.store.calls.count == 2 }
    #expect(Set(mount.store.calls.map(\.operation)) == [.headObject, .listObjects])
    gate.open()
    #expect(try await asked.answer().attributes?.size == 1)
    #expect(mount.store.calls.count == 2)
  }

  @Test func whereDirectoriesExistByThemselvesOneRequestTells() async throws {
    var behaviour = SimulatedStore.Behaviour()
    behaviour.hasDirectories = true
    behaviour.tellsKeyStatus = true
    let mount = try TestMount(behaviour: behaviour)
    mount.place("empty/", "")
    mount.place("full/f")
    mount.place("file")
    #expect(try await mount.lookup("empty").attributes?.kind == .directory)
    #expect(try await mount.lookup("full").attributes?.kind == .directory)
    #expect(try await mount.lookup("file").attributes?.kind == .file)
    #expect(try await mount.lookup("nothing").node == nil)
    #expect(
      mount.store.calls.map(\.operation) == [StoreOperation](repeating: .getFileStatus, count: 4)
    )
    // An empty directory has nothing that a listing would show.
    #expect(try await mount.names(try await mount.node("empty")) == [])
  }

  @Test func aListingThatFindsNoDirectorySaysThatThereIsNone() async throws {
    let mount = try TestMount()
    mount.place("file")
    mount.store.faults.add(Fault(.fail(.notFound), operation: .listObjects, callCount: .max))
    #expect(try await mount.lookup("file").attributes?.kind == .file)
    #expect(try await mount.lookup("nothing").node == nil)
    let long = longName(String(repeating: "x", count: 300))
    #expect(try await mount.lookup(long).node == nil)
  }

  @Test func equalLookupsShareOneQuestion() async throws {
    let mount = try TestMount()
    mount.place("f")
    let gate = Gate()
    mount.store.hook = { _, moment in if moment == .request { await gate.wait() } }
    let asked = (0..<5).map { _ in mount.startLookup("f") }
    try await eventually("the question is under way") { mount.store.calls.count == 2 }
    gate.open()
    var nodes: Set<NodeID?> = []
    for one in asked { nodes.insert(try await one.answer().node) }
    #expect(nodes.count == 1)
    #expect(mount.store.calls.count == 2)
    let node = try #require(nodes.first ?? nil)
    // Each of the five answers counted a lookup.
    mount.bucket.forget(node, count: 4)
    #expect(try await mount.attributes(node).size == 1)
    mount.bucket.forget(node, count: 1)
    await expectFailure(.stale) { _ = try await mount.attributes(node) }
  }

  @Test func lookupsInOneDirectoryRunInParallel() async throws {
    let mount = try TestMount()
    for name in "abcdefgh" { mount.place("\(name)") }
    let gate = Gate()
    mount.store.hook = { _, moment in if moment == .request { await gate.wait() } }
    let asked = "abcdefgh".map { mount.startLookup("\($0)") }
    try await eventually("all are under way") { mount.store.calls.count == 16 }
    gate.open()
    for one in asked { #expect(try await one.answer().node != nil) }
  }

  @Test func aDirectoryIsImpliedByTheKeysBelowIt() async throws {
    let mount = try TestMount()
    mount.place("a/b/c", "deep")
    #expect(try await mount.lookup("a").attributes?.kind == .directory)
    #expect(try await mount.text(try await mount.node("a/b/c")) == "deep")
  }

  @Test func aListingPageMayBeEmptyAlthoughMoreFollows() async throws {
    let scripted = ScriptedListings([
      ListPage(objects: [], commonPrefixes: [], nextToken: "1"),
      ListPage(objects: [], commonPrefixes: [ObjectKey("d/")], nextToken: nil),
    ])
    let mount = try TestMount(front: scripted)
    #expect(try await mount.lookup("d").attributes?.kind == .directory)
  }

  @Test func n1AFileBesideADirectoryOfItsNameIsReachable() async throws {
    let mount = try TestMount()
    mount.place("a", "object")
    mount.place("a/b", "below")
    #expect(try await mount.lookup("a").attributes?.kind == .directory)
    let shadowed = try #require(try await mount.lookup("%dipper-object%a").node)
    #expect(try await mount.text(shadowed) == "object")
    #expect(try await mount.names() == ["%dipper-object%a", "a"])
    // The same answers from the listing.
    #expect(try await mount.lookup("a").attributes?.kind == .directory)
    #expect(try await mount.lookup("%dipper-object%a").node == shadowed)
    #expect(try await mount.lookup("%dipper-object%b").node == nil)
  }

  @Test func n1OddKeysAreReachable() async throws {
    let keys = [
      "/lead", "a//b", "a/./c", "a/../d", "ctl\n", "%dipper%x", "dir/", "plain", "a///e", "..",
      "x/..",
    ]
    for isListed in [false, true] {
      let mount = try TestMount()
      for key in keys { mount.place(key, "content of \(key)") }
      mount.store.place(ObjectKey([0x62, 0xFF]), .text("raw"))
      if isListed { _ = try await mount.names() }
      for key in keys {
        var node = NodeID.root
        var components = key.split(separator: "/", omittingEmptySubsequences: false)
        let last = components.removeLast()
        for component in components {
          let name = try #require(NameCodec.name(of: .init(component: component.utf8)))
          node = try #require(try await mount.lookup(name.description, in: node).node)
        }
        let child = NameCodec.Child(component: last.utf8, isShadowedObject: last.isEmpty)
        let name = try #require(NameCodec.name(of: child))
        let file = try #require(
          try await mount.lookup(name.description, in: node).node,
          "\(key) as \(name)"
        )
        #expect(try await mount.text(file) == "content of \(key)")
        // A marker's bytes can be read, but it isn't listed.
        let isListed = try await mount.names(node).contains(name.description)
        #expect(isListed == !last.isEmpty, "\(key)")
      }
      #expect(try await mount.text(try await mount.node("%dipper%b%FF")) == "raw")
    }
  }

  @Test func n1AnEmptyMarkerIsTheDirectoryAndNotAFileInIt() async throws {
    let mount = try TestMount()
    mount.place("dir/", "")
    #expect(try await mount.names() == ["dir"])
    let directory = try await mount.node("dir")
    #expect(try await mount.names(directory).isEmpty)
    #expect(try await mount.lookup("%dipper-object%", in: directory).node == nil)
  }

  @Test func aPrefixIsMountedAsIfItWereTheBucket() async throws {
    var options = FilesystemOptions()
    options.prefix = ObjectKey("in/side")
    let mount = try TestMount(options: options)
    mount.place("in/side/x", "mine")
    mount.place("in/side", "not mine")
    mount.place("in/sideways", "not mine")
    #expect(try await mount.names() == ["x"])
    let node = try await mount.node("x")
    #expect(try await mount.text(node) == "mine")
    #expect(try await mount.value("user.dipper.key", of: node) == "in/side/x")
  }

  @Test func aLookupThatNobodyTookIsTakenBack() async throws {
    let mount = try TestMount()
    mount.place("f")
    let node = try await mount.node("f")
    let count = mount.bucket.snapshot.nodeCount
    mount.bucket.forget(node, count: 1)
    #expect(mount.bucket.snapshot.nodeCount == count - 1)
    let gone = Asked<EntryAnswer>(takesAnswer: false)
    mount.bucket.lookup(FileName("f"), in: .root, reply: gone.reply())
    _ = try await gone.answer()
    #expect(mount.bucket.snapshot.nodeCount == count - 1)
  }

  @Test func readingKeysMayBeAllowedWithoutListingThem() async throws {
    let faults = FaultPlan([Fault(.fail(.accessDenied), operation: .listObjects, callCount: 100)])
    let mount = try TestMount(faults: faults)
    mount.place("f", "secret")
    #expect(try await mount.text(try await mount.node("f")) == "secret")
    await expectFailure(.accessDenied) { _ = try await mount.lookup("other") }
  }

  @Test func o3WhatIsRememberedOfAbsentNamesIsBounded() async throws {
    var options = FilesystemOptions()
    options.absentNameCountMax = 10
    let mount = try TestMount(options: options)
    // So few in each that no directory is listed for them.
    var directories: [NodeID] = []
    for number in 0..<25 { mount.place("d\(number)/f") }
    for number in 0..<25 {
      directories.append(try await mount.node("d\(number)"))
    }
    func lookUpAll() async throws {
      for directory in directories {
        for number in 0..<4 { _ = try await mount.lookup("no-\(number)", in: directory) }
      }
    }
    try await lookUpAll()
    mount.store.forgetCalls()
    try await lookUpAll()
    #expect(mount.store.calls.of(.headObject).count >= 80)
  }
}
