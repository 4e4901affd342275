import Core
import Filesystem
import Simulation
import Support
import Testing

/// Random operations against a file system whose answers are compared with what the bucket held.
///
/// Knowledge is believed for ten seconds, so an answer is right if it was true at some moment of the
/// last ten; a whole listing must have been true at one moment.
@Suite struct ModelTests {
  @Test(arguments: Seeds.usually(300))
  func everyAnswerWasTrueWithinTheTimeToLive(seed: UInt64) async throws {
    var model = try Model(seed: seed)
    for step in 0..<60 {
      do {
        try await model.step()
      } catch {
        Issue.record("seed \(seed), step \(step): \(error)")
        return
      }
    }
    try await model.forgetAll()
  }
}

private struct Model {
  /// The bucket at a moment: the tags of its keys.
  private struct Moment {
    let since: Instant
    var tags: [String: ETag]
  }

  private struct Held {
    let node: NodeID
    let key: String
    let tag: ETag
    let since: Instant
    var lookupCount: UInt64
  }

  private struct Wrong: Error, CustomStringConvertible {
    let description: String
  }

  private static let keys = [
    "a", "a/x", "a/y", "b", "b/c/d", "c", "c/", "d-1", "a//e", "a-b", "e\n",
  ]
  private static let directories = ["", "a/", "b/", "b/c/", "c/", "a//"]
  private static let timeToLive = Duration.seconds(10)

  private var generator: Seeded
  private let mount: TestMount
  private var history: [Moment]
  private var contents: [ETag: String] = [:]
  private var held: [NodeID: Held] = [:]
  private var directoryNodes: [NodeID: UInt64] = [:]

  init(seed: UInt64) throws {
    generator = Seeded(seed)
    var behaviour = SimulatedStore.Behaviour()
    behaviour.pageCountMax = [1, 2, 3, 1000][Int(seed % 4)]
    behaviour.listsInTreeOrder = seed % 8 >= 6
    mount = try TestMount(behaviour: behaviour)
    history = [Moment(since: mount.clock.now, tags: [:])]
  }

  mutating func step() async throws {
    switch Int.random(in: 0..<20, using: &generator) {
    case 0..<4: place()
    case 4..<6: remove()
    case 6..<8: mount.clock.advance(by: .seconds(Int.random(in: 0..<8, using: &generator)))
    case 8..<12: try await lookUp()
    case 12..<14: try await list()
    case 14..<16: try await readHeld()
    case 16..<18: try await look()
    case 18: forgetOne()
    default:
      if Int.random(in: 0..<5, using: &generator) == 0 { mount.bucket.invalidateAll() }
    }
  }

  mutating func forgetAll() async throws {
    for held in held.values { mount.bucket.forget(held.node, count: held.lookupCount) }
    for (node, count) in directoryNodes { mount.bucket.forget(node, count: count) }
    guard mount.bucket.snapshot.nodeCount == 1 else {
      throw Wrong(description: "\(mount.bucket.snapshot.nodeCount) nodes are left")
    }
  }

  private mutating func place() {
    guard let key = Self.keys.randomElement(using: &generator) else { return }
    let text = key == "c/" && Bool.random(using: &generator) ? "" : "\(key) \(generator.next())"
    let version = mount.place(key, text)
    guard let tag = version.etag else { return }
    contents[tag] = text
    note { $0[key] = tag }
  }

  private mutating func remove() {
    guard let key = Self.keys.randomElement(using: &generator) else { return }
    mount.store.remove(ObjectKey(key))
    note { $0[key] = nil }
  }

  private mutating func note(_ change: (inout [String: ETag]) -> Void) {
    var moment = Moment(since: mount.clock.now, tags: history.last?.tags ?? [:])
    change(&moment.tags)
    history.append(moment)
  }

  /// What the bucket was at the moments of the last ten seconds, or since `start`.
  private func recent(since start: Instant? = nil) -> [[String: ETag]] {
    let oldest = start ?? mount.clock.now + (.zero - Self.timeToLive)
    let first = history.lastIndex { $0.since <= oldest } ?? 0
    return history[first...].map(\.tags)
  }

  /// What lies in a directory of such a bucket: names, and tags for files.
  private func children(_ directory: String, _ tags: [String: ETag]) -> [String: ETag?] {
    var children: [String: ETag?] = [:]
    let keys = tags.keys.filter { $0.hasPrefix(directory) }
    for key in keys {
      let rest = key.utf8.dropFirst(directory.utf8.count)
      guard let end = rest.firstIndex(of: UInt8(ascii: "/")) else { continue }
      let name = NameCodec.name(of: .init(component: rest[..<end]))
      children[name?.description ?? "?"] = .some(nil)
    }
    for key in keys {
      let component = Array(key.utf8.dropFirst(directory.utf8.count))
      guard !component.contains(UInt8(ascii: "/")), let tag = tags[key] else { continue }
      if component.isEmpty && (contents[tag]?.isEmpty ?? true) { continue }
      let isShadowed = component.isEmpty || keys.contains { $0.hasPrefix(key + "/") }
      let name = NameCodec.name(of: .init(component: component, isShadowedObject: isShadowed))
      children[name?.description ?? "?"] = tag
    }
    return children
  }

  private mutating func enter(_ directory: String) async throws -> NodeID? {
    var node = NodeID.root
    for part in directory.split(separator: "/", omittingEmptySubsequences: false).dropLast() {
      let name = NameCodec.name(of: .init(component: part.utf8))?.description ?? "?"
      let answer = try await mount.lookup(name, in: node)
      guard let next = answer.node else { return nil }
      guard answer.attributes?.kind == .directory else {
        mount.bucket.forget(next, count: 1)
        return nil
      }
      directoryNodes[next, default: 0] += 1
      node = next
    }
    return node
  }

  private mutating func lookUp() async throws {
    let directory = Self.directories.randomElement(using: &generator) ?? ""
    guard let parent = try await enter(directory) else { return }
    let names = ["a", "b", "c", "d-1", "x", "y", "d", "e", "a-b", "%dipper%e%0A", "%dipper%"]
    var name = names.randomElement(using: &generator) ?? "a"
    if Int.random(in: 0..<4, using: &generator) == 0 {
      name = "%dipper-object%" + (name.hasPrefix("%") ? "" : name)
    }
    let answer = try await mount.lookup(name, in: parent)
    let truths = recent().map { children(directory, $0)[name] }
    guard let node = answer.node, let attributes = answer.attributes else {
      guard truths.contains(where: { $0 == nil }) else {
        throw Wrong(description: "\(directory)\(name) was there all the time")
      }
      return
    }
    guard attributes.kind == .file else {
      directoryNodes[node, default: 0] += 1
      guard truths.contains(where: { $0 == .some(nil) }) else {
        throw Wrong(description: "\(directory)\(name) was no directory at any time")
      }
      return
    }
    let tag = ETag(try await mount.value("user.dipper.etag", of: node))
    let key = try await mount.value("user.dipper.key", of: node)
    let count = (held[node]?.lookupCount ?? 0) + 1
    held[node] = Held(
      node: node,
      key: key,
      tag: tag,
      since: held[node]?.since ?? (mount.clock.now + (.zero - Self.timeToLive)),
      lookupCount: count
    )
    guard truths.contains(where: { $0 == .some(tag) }) else {
      throw Wrong(description: "\(directory)\(name) was not \(tag) at any time")
    }
    guard attributes.size == contents[tag]?.utf8.count else {
      throw Wrong(description: "\(directory)\(name) has the size of another version")
    }
  }

  private mutating func list() async throws {
    let directory = Self.directories.randomElement(using: &generator) ?? ""
    guard let node = try await enter(directory) else { return }
    let names = try await mount.names(node)
    // The object at the directory's own key can be looked up, but isn't listed.
    let truths = recent().map { tags in
      children(directory, tags).keys.filter { $0 != "%dipper-object%" }.sorted()
    }
    guard truths.contains(names) else {
      throw Wrong(description: "\(directory) never had \(names), but \(truths)")
    }
  }

  private mutating func readHeld() async throws {
    guard
      let held = held.values.sorted(by: { $0.node.rawValue < $1.node.rawValue })
        .randomElement(using: &generator)
    else { return }
    do {
      let text = try await mount.text(held.node)
      guard text == contents[held.tag] else {
        throw Wrong(description: "\(held.key) \(held.tag) was read as \(text)")
      }
    } catch let error as FileError {
      try check(error, held)
    }
  }

  private mutating func look() async throws {
    guard
      let held = held.values.sorted(by: { $0.node.rawValue < $1.node.rawValue })
        .randomElement(using: &generator)
    else { return }
    do {
      let attributes = try await mount.attributes(held.node)
      guard attributes.size == contents[held.tag]?.utf8.count else {
        throw Wrong(description: "\(held.key) \(held.tag) has the size of another version")
      }
      guard recent().contains(where: { $0[held.key] == held.tag }) else {
        throw Wrong(description: "\(held.key) \(held.tag) was not there within the last 10 s")
      }
    } catch let error as FileError {
      try check(error, held)
    }
  }

  /// A version may be called stale only if it was replaced or removed since it was known.
  private func check(_ error: FileError, _ held: Held) throws {
    guard error.code == .stale,
      recent(since: held.since).contains(where: { $0[held.key] != held.tag })
    else {
      throw Wrong(description: "\(held.key) \(held.tag): \(error)")
    }
  }

  private mutating func forgetOne() {
    guard
      let held = held.values.sorted(by: { $0.node.rawValue < $1.node.rawValue })
        .randomElement(using: &generator)
    else { return }
    mount.bucket.forget(held.node, count: held.lookupCount)
    self.held[held.node] = nil
  }
}
