import Core
import Simulation
import Support
import Testing

@testable import Filesystem

/// Drives a filter with one kind of event; nil is an event that was kept back.
struct RepetitionFilterProbe {
  private var filter = RepetitionFilter(interval: .seconds(10))

  mutating func tell(at second: Int64) -> Int? {
    let now = Instant(nanoseconds: second * 1_000_000_000)
    guard case .tell(let count) = filter.occurred("it", at: now) else { return nil }
    return count
  }
}

@Suite struct CompactIndexTests {
  @Test(arguments: 0..<100 as Range<UInt64>)
  func itFindsWhatADictionaryFinds(seed: UInt64) {
    var generator = Seeded(seed)
    var index = CompactIndex()
    var model: [UInt32: UInt32] = [:]
    for _ in 0..<400 {
      let value = UInt32.random(in: 0..<200, using: &generator)
      // Few tags, many of them neighbours: long probes and collisions.
      let tag = value % 13 &* 3
      if model[value] == nil {
        index.insert(tag: tag, value: value)
        model[value] = tag
      } else if Bool.random(using: &generator) {
        index.remove(tag: tag, value: value)
        model[value] = nil
      }
      #expect(index.count == model.count)
    }
    for value in 0..<200 as Range<UInt32> {
      let found = index.first(tag: value % 13 &* 3) { $0 == value }
      #expect((found != nil) == (model[value] != nil), "seed \(seed), value \(value)")
    }
  }
}

@Suite struct InodeTableTests {
  private let directory = Directory(
    node: .root,
    prefix: ObjectKey(""),
    inodeNumber: 1,
    parentInodeNumber: 1
  )

  private func entry(_ name: String, etag: String = "e", at second: Int64 = 0) throws -> Entry {
    let version = ObjectVersion(
      key: ObjectKey(name),
      etag: ETag(etag),
      size: 1,
      lastModified: Timestamp(seconds: 0)
    )
    return try #require(
      ListingPage.single(
        ObjectMetadata(version: version),
        component: Array(name.utf8)[...],
        in: ObjectKey(""),
        requestedAt: Instant(nanoseconds: second),
        isPlainlyNamed: true
      )
    )
  }

  @Test func aNodeIs56Bytes() {
    #expect(InodeTable.nodeByteCount == 56)
  }

  @Test func numbersAreNeverReused() throws {
    var table = InodeTable(rootDirectory: directory)
    var seen: Set<NodeID> = [.root]
    for _ in 0..<5000 {
      let node = table.lookedUp(try entry("f"), in: .root)
      #expect(seen.insert(node).inserted)
      table.forget(node, lookupCount: 1)
    }
    #expect(table.count == 1)
    #expect(seen.allSatisfy { $0 == .root || table.node($0) == nil })
  }

  @Test func theSameVersionIsTheSameNodeAndAnotherIsNot() throws {
    var table = InodeTable(rootDirectory: directory)
    let first = table.lookedUp(try entry("f", etag: "1", at: 1), in: .root)
    let again = try entry("f", etag: "1", at: 2)
    #expect(table.lookedUp(again, in: .root) == first)
    let second = table.lookedUp(try entry("f", etag: "2", at: 3), in: .root)
    #expect(second != first)
    #expect(table.isSuperseded(first) && !table.isSuperseded(second))
    // An answer to an older question doesn't count against a newer one.
    #expect(table.lookedUp(again, in: .root) == second)
    #expect(table.children(of: .root) == [second])
  }

  @Test func aDirectoryForgottenBeforeItsChildrenLeavesThemInOrder() throws {
    var table = InodeTable(rootDirectory: directory)
    let parent = table.lookedUp(
      ListingPage.single(
        directory: Array("d".utf8)[...],
        in: ObjectKey(""),
        requestedAt: Instant(nanoseconds: 0)
      ),
      in: .root
    )
    let y = try entry("y")
    let children = try ["x", "y", "z"].map { table.lookedUp(try entry($0), in: parent) }
    #expect(Set(table.children(of: parent)) == Set(children))
    table.forget(parent, lookupCount: 1)
    for child in children { #expect(table.node(child)?.parent == nil) }
    #expect(table.lookedUp(y, in: .root) == children[1])
    #expect(table.children(of: .root) == [children[1]])
    for child in children { table.forget(child, lookupCount: 9) }
    #expect(table.count == 1)
    #expect(table.children(of: .root).isEmpty)
  }

  @Test func theRootIsNeverForgotten() {
    var table = InodeTable(rootDirectory: directory)
    table.forget(.root, lookupCount: .max)
    #expect(table.directory(.root) === directory)
    table.forget(NodeID(0), lookupCount: 1)
    table.forget(NodeID(.max), lookupCount: 1)
    #expect(table.count == 1)
  }
}

@Suite struct InodeNumberTests {
  private func number(_ component: String, _ kind: FileKind, in prefix: String) -> UInt64 {
    InodeNumber.of(Array(component.utf8)[...], kind: kind, in: .init(ObjectKey(prefix)))
  }

  @Test func numbersAreWhatTheyWereInEarlierReleases() {
    #expect(number("b", .file, in: "a/") == 17_484_577_898_152_094_444)
    #expect(number("b", .directory, in: "a/") == 5_456_700_983_822_726_479)
  }

  @Test func neighboursDiffer() {
    var seen: Set<UInt64> = []
    for index in 0..<10_000 { seen.insert(number("f\(index)", .file, in: "d/")) }
    #expect(seen.count == 10_000)
    #expect(number("", .file, in: "a/") != number("a", .directory, in: ""))
    #expect(number("a", .file, in: "") != number("a", .directory, in: ""))
  }
}
