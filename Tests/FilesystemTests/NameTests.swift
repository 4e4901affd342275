import Core
import Filesystem
import Simulation
import Support
import Testing

/// N1: every key of a bucket has one path in the mount, and every file there is one key.
@Suite struct NameTests {
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

  @Test func n1AComponentThatIsTooLongForANameHasSeveral() async throws {
    let mount = try TestMount()
    let long = String(repeating: "k", count: 1000)
    for key in [long, long + "x", String(repeating: "d", count: 300) + "/f", "short"] {
      mount.place(key, key)
    }
    let pieces = (0..<4).map { _ in "%dipper-long%" + String(repeating: "k", count: 240) }
    let other = "%dipper-long%" + String(repeating: "d", count: 240)
    #expect(try await mount.names() == [other, pieces[0], "short"])
    let directory = try await mount.node(pieces.joined(separator: "/"))
    let tail = "%dipper%" + String(repeating: "k", count: 40)
    #expect(try await mount.names(directory) == [tail, tail + "x"])
    let file = try await mount.node(pieces.joined(separator: "/") + "/" + tail)
    #expect(try await mount.text(file) == long)
    #expect(try await mount.value("user.dipper.key", of: file) == long)
    let inner = other + "/%dipper%" + String(repeating: "d", count: 60)
    #expect(try await mount.names(try await mount.node(inner)) == ["f"])
    await expectFailure(.nameTooLong) {
      _ = try await mount.lookup(String(repeating: "k", count: 256))
    }
  }

  @Test func aDirectoryOfLongNamesIsThereOnlyIfThereAreSome() async throws {
    let base = String(repeating: "n", count: 240)
    let piece = "%dipper-long%" + base
    let mount = try TestMount()
    // All of these have names of their own, although they begin as longer ones would.
    for key in [base, base + "-1", base + "/x", base + "//y", base + "1234567"] { mount.place(key) }
    #expect(try await mount.lookup(piece).node == nil)
    #expect(!(try await mount.names()).contains(piece))
    mount.clock.advance(by: .seconds(11))
    // Its plain name fits, but a directory takes that, and what is left doesn't.
    mount.place(base + "1234567/z")
    #expect(try await mount.lookup(piece).attributes?.kind == .directory)
    #expect(
      try await mount.names().filter { $0.hasPrefix("%") } == [piece, "%dipper-object%" + base]
    )
    let node = try await mount.node(piece)
    #expect(try await mount.names(node) == ["%dipper-object%1234567"])
    #expect(try await mount.lookup("%dipper%1234567", in: node).node == nil)
    #expect(try await mount.lookup("1234567", in: node).node == nil)
    let numbers = try await [
      mount.attributes(node), mount.attributes(try await mount.node(base)),
      mount.attributes(try await mount.node(base + "/%dipper%")),
    ].map(\.inodeNumber)
    #expect(Set(numbers).count == 3)
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
      var child = NameCodec.Child(component: component, isShadowedObject: isShadowed)
      var head: ArraySlice<UInt8> = []
      while case .below(let piece) = NameCodec.placement(of: child, behind: head) {
        if let name = NameCodec.name(of: piece, behind: head) { names.append(name) }
        let count = piece.component.count - 1
        head += child.component.prefix(count)
        child.component.removeFirst(count)
      }
      if let name = NameCodec.name(of: child, behind: head) { names.append(name) }
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

  fileprivate func bytes(_ node: NodeID) async throws -> [UInt8] {
    let handle = try await open(node)
    defer { bucket.release(handle, reply: Asked<EmptyAnswer>().reply()) }
    return try await read(handle, ByteRange(0, 1 << 20))
  }
}
