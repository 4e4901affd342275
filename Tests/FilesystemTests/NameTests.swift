import Caching
import Core
import Filesystem
import Simulation
import Support
import Testing

/// N1: every key of a bucket has one path in the mount, and every file there is one key.
@Suite struct NameTests {
  @Test func whatRenamingsLeaveAtTheRootIsFoundButNotListed() async throws {
    let mount = try TestMount()
    mount.place(".dipper/renames/x")
    mount.place("d/.dipper/x")
    #expect(try await mount.names() == ["d"])
    #expect(try await mount.names(try await mount.node("d")) == [".dipper"])
    #expect(try await mount.lookup(".dipper").node != nil)
  }

  @Test(arguments: 0..<8 as Range<UInt64>)
  func n1EveryKeyIsShownOnceAndFoundByItsName(seed: UInt64) async throws {
    var hostile = HostileKeys(seed: seed)
    let keys = hostile.bucket(count: 12)
    var behaviour = SimulatedStore.Behaviour()
    behaviour.pageCountMax = [1, 2, 7, 1000][Int(seed % 4)]
    behaviour.listsInTreeOrder = seed % 8 >= 6
    let mount = try TestMount(behaviour: behaviour)
    for key in keys { mount.store.place(key, .bytes(key.bytes)) }
    // Objects at a directory's own key are found, but not listed.
    let listed = keys.filter { !$0.isDirectoryMarker }
    var walk = Walk(mount: mount)
    try await walk.visit(.root, depth: 0)
    let (found, numbers) = (Set(walk.found), Set(walk.numbers))
    let counts = [walk.found.count - found.count, walk.numbers.count - numbers.count]
    #expect(counts == [0, 0], "seed \(seed): something is shown twice")
    // Not compared as sets: the difference of two is a page of hostile bytes.
    let missing = listed.subtracting(found).sorted().map(\.description)
    let foreign = found.subtracting(listed).sorted().map(\.description)
    #expect(missing == [], "seed \(seed)")
    #expect(foreign == [], "seed \(seed)")
    // Found by name alone too, with and without listings to answer for it.
    for bucket in [mount, try TestMount(behaviour: behaviour, store: mount.store)] {
      for key in keys.sorted() {
        let file = try await bucket.node(at: bucket.path(of: key, among: keys))
        let node = try #require(file, "seed \(seed): \(key)")
        let isRight = try await bucket.rawKey(of: node) == key
        let isWhole = try await bucket.bytes(node) == key.bytes
        #expect(isRight && isWhole, "seed \(seed): \(key)")
      }
    }
  }

  @Test func n1AComponentThatIsTooLongForANameHasOneNameInItsDirectory() async throws {
    let mount = try TestMount()
    let long = String(repeating: "k", count: 1000)
    let directory = String(repeating: "d", count: 300)
    for key in [long, long + "x", directory + "/f", "short"] { mount.place(key, key) }
    // The first half of SHA-256, as any tool computes it.
    let name =
      "%dipper-long%" + String(repeating: "k", count: 208) + "%-27fed049cf80e0eff71ab837c82a5032"
    #expect(name == longName(long) && name.utf8.count == 255)
    let names = [longName(directory), name, longName(long + "x"), "short"]
    #expect(try await mount.names() == names.sorted())
    for mount in [mount, try TestMount(store: mount.store)] {
      let file = try await mount.node(name)
      #expect(try await mount.text(file) == long)
      #expect(try await mount.value("user.dipper.key", of: file) == long)
      let inner = try await mount.node(longName(directory) + "/f")
      #expect(try await mount.text(inner) == directory + "/f")
      let outer = try await mount.node(longName(directory))
      #expect(try await mount.value("user.dipper.key", of: outer) == directory + "/")
      #expect(try await mount.names(outer) == ["f"])
      await expectFailure(.nameTooLong) {
        _ = try await mount.lookup(String(repeating: "k", count: 256))
      }
    }
  }

  @Test func n1ALongObjectBesideItsDirectoryIsReachable() async throws {
    let store = try TestMount()
    // The second's plain name fits, its other name doesn't.
    let keys = [String(repeating: "n", count: 400), String(repeating: "n", count: 250)]
    for key in keys {
      store.place(key, "object")
      store.place(key + "/below", "below")
    }
    for isListed in [false, true] {
      let mount = try TestMount(store: store.store)
      if isListed { #expect(try await mount.names().count == 4) }
      for key in keys {
        let plain = key.utf8.count > 255 ? longName(key) : key
        let directory = try await mount.node(plain)
        #expect(try await mount.names(directory) == ["below"])
        let object = try await mount.node(longName(key, isShadowed: true))
        #expect(try await mount.text(object) == "object")
        #expect(try await mount.value("user.dipper.key", of: object) == key)
        let numbers = try await [mount.attributes(directory), mount.attributes(object)]
        #expect(Set(numbers.map(\.inodeNumber)).count == 2)
      }
    }
    // Without the directory the object has the other name, and the same number.
    let mount = try TestMount(store: store.store)
    let shadowed = longName(keys[0], isShadowed: true)
    let number = try await mount.lookup(shadowed).attributes?.inodeNumber
    mount.store.remove(ObjectKey(keys[0] + "/below"))
    mount.clock.advance(by: .seconds(11))
    #expect(try await mount.lookup(shadowed).node == nil)
    #expect(try await mount.lookup(longName(keys[0])).attributes?.inodeNumber == number)
  }

  @Test func n1ALongNameCostsOneListingOnce() async throws {
    let mount = try TestMount()
    let long = String(repeating: "k", count: 300)
    for tail in ["", "1", "2"] { mount.place(long + tail, long + tail) }
    let node = try await mount.node(longName(long))
    #expect(mount.store.calls.map(\.operation) == [.listObjects])
    #expect(mount.store.calls.first?.key == ObjectKey(String(repeating: "k", count: 208)))
    // What is known of it is believed as of any name, and costs as much to confirm.
    #expect(try await mount.lookup(longName(long)).node == node)
    #expect(try await mount.attributes(node).size == 300)
    #expect(mount.store.calls.count == 1)
    mount.clock.advance(by: .seconds(11))
    mount.store.forgetCalls()
    #expect(try await mount.lookup(longName(long)).node == node)
    #expect(Set(mount.store.calls.map(\.operation)) == [.headObject, .listObjects])
    #expect(mount.store.calls.count == 2)
    // A listing of the directory answers for all.
    _ = try await mount.names()
    mount.store.forgetCalls()
    #expect(try await mount.lookup(longName(long + "2")).node != nil)
    #expect(try await mount.lookup(longName(long + "3")).node == nil)
    #expect(mount.store.calls.isEmpty)
  }

  @Test func n1ALongNameIsFoundBehindManyThatBeginAlike() async throws {
    var behaviour = SimulatedStore.Behaviour()
    behaviour.pageCountMax = 2
    let mount = try TestMount(behaviour: behaviour)
    let long = String(repeating: "k", count: 300)
    // Between the object and its directory lie others, which may be pages apart.
    for tail in ["", "!1", "!2", "!3", "!4", "/f", "5"] { mount.place(long + tail, tail) }
    #expect(try await mount.lookup(longName(long)).attributes?.kind == .directory)
    #expect(mount.store.calls.count == 1 + 2, "the first page names it, and then it is asked for")
    mount.store.forgetCalls()
    #expect(try await mount.text(try await mount.node(longName(long, isShadowed: true))) == "")
    #expect(try await mount.text(try await mount.node(longName(long + "5"))) == "5")
    #expect(try await mount.lookup(longName(long + "6")).node == nil)
  }

  @Test func aLongNameThatNoKeyHasIsAskedForOnce() async throws {
    let mount = try TestMount()
    mount.place(String(repeating: "k", count: 300))
    let absent = longName(String(repeating: "k", count: 301))
    #expect(try await mount.lookup(absent).node == nil)
    #expect(mount.store.calls.map(\.operation) == [.listObjects])
    #expect(try await mount.lookup(absent).node == nil)
    #expect(mount.store.calls.count == 1, "its absence is believed")
    // What Dipper would write for no component is no question.
    #expect(try await mount.lookup("%dipper-long%k%-" + absent.suffix(32)).node == nil)
    #expect(mount.store.calls.count == 1)
    mount.place(String(repeating: "k", count: 301))
    mount.clock.advance(by: .seconds(11))
    #expect(try await mount.lookup(absent).node != nil)
  }

  @Test func thoseWhoAskForOneLongNameShareTheQuestion() async throws {
    let mount = try TestMount()
    let long = String(repeating: "k", count: 300)
    mount.place(long)
    let gate = Gate()
    mount.store.hook = { _, moment in if moment == .request { await gate.wait() } }
    let asked = (0..<4).map { _ in mount.startLookup(longName(long)) }
    gate.open()
    for asked in asked { #expect(try await asked.answer().node != nil) }
    #expect(mount.store.calls.count == 1)
  }

  @Test func aListingThatGoesRoundInCirclesFailsALongName() async throws {
    let page = ListPage(objects: [], commonPrefixes: [], nextToken: "again")
    let mount = try TestMount(front: ScriptedListings([page], repeatsLast: true))
    await expectFailure(.inputOutput) {
      _ = try await mount.lookup(longName(String(repeating: "k", count: 300)))
    }
  }

  @Test func n1AMarkerWithBytesIsFoundButNotListed() async throws {
    let mount = try TestMount()
    mount.place("b4/", "bytes")
    mount.place("b4/kid", "kid")
    for isListed in [false, true] {
      let directory = try await mount.node("b4")
      if isListed { #expect(try await mount.names(directory) == ["kid"]) }
      let marker = try await mount.node("b4/%dipper-object%")
      #expect(try await mount.text(marker) == "bytes")
      #expect(try await mount.value("user.dipper.key", of: marker) == "b4/")
      #expect(try await mount.value("user.dipper.key", of: directory) == "b4/")
      #expect(try await mount.attributes(directory).kind == .directory)
    }
  }

  @Test func aNameThatLooksLikeAShadowedObjectIsNotTakenForIt() async throws {
    let mount = try TestMount()
    for key in ["a", "a/b", "%dipper-object%a"] { mount.place(key, "at " + key) }
    // The absence of the one says nothing of the other.
    mount.store.remove(ObjectKey("a"))
    #expect(try await mount.lookup("%dipper-object%a").node == nil)
    let literal = try await mount.node("%dipper%%25dipper-object%25a")
    #expect(try await mount.text(literal) == "at %dipper-object%a")
  }

  @Test func keysLongerThanAnyStoreHasAreHiddenAlone() async throws {
    let long = [String(repeating: "k", count: 1025), String(repeating: "k", count: 70_000)]
    let page = ListPage(
      objects: [
        ObjectMetadata(
          version: ObjectVersion(
            key: ObjectKey("f"),
            etag: ETag("e"),
            size: 1,
            lastModified: Timestamp(seconds: 1)
          )
        )
      ],
      commonPrefixes: long.map { ObjectKey($0 + "/") },
      nextToken: nil
    )
    let mount = try TestMount(front: ScriptedListings([page]))
    #expect(try await mount.names() == ["f"])
  }
}

/// Looks at everything below a directory, as `find` does.
private struct Walk {
  let mount: TestMount
  /// The keys of the files, in the order in which they were shown.
  var found: [ObjectKey] = []
  /// The inode numbers of files and directories.
  var numbers: [UInt64] = []

  mutating func visit(_ directory: NodeID, depth: Int) async throws {
    guard depth < 600 else { throw Unexpected(what: "a tree deeper than any key") }
    let handle = try await mount.openDirectory(directory)
    let entries = try await mount.entries(handle).dropFirst(2)
    mount.bucket.releaseDirectory(handle, reply: Asked<EmptyAnswer>().reply())
    guard Set(entries.map(\.name)).count == entries.count else {
      throw Unexpected(what: "a name is shown twice")
    }
    for entry in entries {
      numbers.append(entry.inodeNumber)
      guard entry.name.bytes.count <= 255,
        let node = try await mount.node(at: [entry.name], in: directory)
      else { throw Unexpected(what: "\(entry.name) is shown but not there") }
      let attributes = try await mount.attributes(node)
      guard attributes.inodeNumber == entry.inodeNumber, attributes.kind == entry.kind else {
        throw Unexpected(what: "\(entry.name) is shown as something else")
      }
      if entry.kind == .directory {
        try await visit(node, depth: depth + 1)
      } else {
        found.append(try await mount.rawKey(of: node))
      }
    }
  }
}

extension TestMount {
  /// The names that lead to a key, by the rules of docs/names.md.
  fileprivate func path(of key: ObjectKey, among keys: Set<ObjectKey>) -> [FileName] {
    var names: [FileName] = []
    let components = key.bytes.split(separator: 0x2F, omittingEmptySubsequences: false)
    for (index, component) in components.enumerated() {
      let isLast = index == components.count - 1
      let below = ObjectKey(key.bytes + [0x2F])
      let isShadowed = isLast && (component.isEmpty || keys.contains { $0.hasPrefix(below) })
      let child = NameCodec.Child(component: component, isShadowedObject: isShadowed)
      names.append(NameCodec.name(of: child, .sha256))
    }
    return names
  }

  /// The node at the end of a path; nil if a name of it isn't there.
  fileprivate func node(at names: [FileName], in start: NodeID = .root) async throws -> NodeID? {
    var node = start
    for name in names {
      let asked = Asked<EntryAnswer>()
      bucket.lookup(name, in: node, reply: asked.reply())
      guard let next = try await asked.answer().node else { return nil }
      node = next
    }
    return node
  }

  fileprivate func rawKey(of node: NodeID) async throws -> ObjectKey {
    let asked = Asked<AttributeValueAnswer>()
    bucket.extendedAttribute("user.dipper.key", of: node, reply: asked.reply())
    return ObjectKey(try await asked.answer().bytes)
  }
}
