import Caching
import Core
import Simulation
import Support
import Testing

@testable import Filesystem

/// What a flat listing of a tree is sorted into, page by page.
@Suite struct FlatSorterTests {
  private let budget = MemoryBudget(limit: 1 << 20)
  private let now = Instant(nanoseconds: 1)

  /// A sorter of what lies below `t/`, and what it made of the pages.
  private struct Sorting {
    var sorter: FlatSorter

    /// The directories that a page completes, each with the number of its entries; nil if it can't
    /// be used.
    mutating func take(_ page: ListPage) -> [String]? {
      let now = Instant(nanoseconds: 1)
      return switch sorter.take(page, requestedAt: now, now: now) {
      case .parts(let parts): parts.map { "\($0.prefix) \($0.contents.count)" }
      case .unordered, .unusable: nil
      }
    }
  }

  private func sorting(limit: Int = 1 << 20) -> Sorting {
    let memory = ListingMemory(limit: limit, budget: budget)
    return Sorting(sorter: FlatSorter(prefix: ObjectKey("t/"), memory: memory, digest: .sha256))
  }

  private func page(_ keys: [String], more: Bool = true, common: [String] = []) -> ListPage {
    let objects = keys.map { key in
      ObjectMetadata(
        version: ObjectVersion(
          key: ObjectKey(key),
          etag: ETag("e"),
          size: 1,
          lastModified: Timestamp(seconds: 1)
        )
      )
    }
    return ListPage(
      objects: objects,
      commonPrefixes: common.map { ObjectKey($0) },
      nextToken: more ? "more" : nil
    )
  }

  @Test func aDirectoryIsAnsweredWhenAllOfItHasCome() {
    var pages = sorting()
    #expect(pages.take(page(["t/a", "t/b/1", "t/b/2"])) == [])
    #expect(pages.take(page(["t/b/3", "t/b/c/1"])) == [])
    #expect(!pages.sorter.isPast(ObjectKey("t/b/")))
    #expect(pages.take(page(["t/b/d", "t/e/1"])) == ["t/b/c/ 1", "t/b/ 5"])
    #expect(pages.sorter.isPast(ObjectKey("t/b/")) && !pages.sorter.isPast(ObjectKey("t/e/")))
    #expect(pages.take(page([], more: false)) == ["t/e/ 1"])
  }

  @Test func whatIsPastIsSoInEachOrderThatIsStillPossible() {
    var pages = sorting()
    // In byte order `t/a-/` comes before `t/a/`, in a tree's behind it.
    _ = pages.take(page(["t/a/1"]))
    #expect(!pages.sorter.isPast(ObjectKey("t/a-/")), "it may come yet, from a tree")
    _ = pages.take(page(["t/b/1"]))
    #expect(pages.sorter.isPast(ObjectKey("t/a-/")))
  }

  @Test func keysInNoOrderEndIt() {
    var pages = sorting()
    _ = pages.take(page(["t/b/1"]))
    guard case .unordered = pages.sorter.take(page(["t/a/1"]), requestedAt: now, now: now) else {
      Issue.record("nothing tells when a directory is complete")
      return
    }
  }

  @Test func whatWasNotAskedForIsNotUsed() {
    var outside = sorting()
    #expect(outside.take(page(["u/1"])) == nil)
    var grouped = sorting()
    #expect(grouped.take(page(["t/1"], common: ["t/d/"])) == nil)
  }

  @Test func keysOfManyDirectoriesEachAreNotUsed() {
    let deep = (0..<50).map { "t/\($0.padded(2))/" + String(repeating: "d/", count: 99) + "f" }
    var few = sorting(limit: 1 << 30)
    #expect(few.take(page(Array(deep[..<40]))) != nil)
    var many = sorting(limit: 1 << 30)
    #expect(many.take(page(deep)) == nil)
  }

  @Test func whatHasNoRoomIsNotUsed() {
    var pages = sorting(limit: 1)
    #expect(pages.take(page(["t/a/1", "t/b/1"])) == nil)
    #expect(budget.usedByteCount == 0, "what it took is given back")
  }
}
