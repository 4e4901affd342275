import Caching
import Core
import Simulation
import Support
import Testing

@testable import Filesystem

/// What a store may do to a listing, and what bounds it.
@Suite struct ListingLimitTests {
  private static func object(_ key: String) -> ObjectMetadata {
    ObjectMetadata(
      version: ObjectVersion(
        key: ObjectKey(key),
        etag: ETag("e"),
        size: 1,
        lastModified: Timestamp(seconds: 1)
      )
    )
  }

  private static func page(_ keys: [String], _ token: String?) -> ListPage {
    ListPage(objects: keys.map(object), commonPrefixes: [], nextToken: token)
  }

  /// Reads a directory to its end or to the failure that takes its place.
  private func read(_ mount: TestMount) async throws -> (count: Int, failure: FileError?) {
    let handle = try await mount.openDirectory(.root)
    defer { mount.bucket.releaseDirectory(handle, reply: Asked<EmptyAnswer>().reply()) }
    var count = 0
    var offset = 0
    while true {
      do {
        var source = try await mount.startReadDirectory(handle, offset: offset).answer().source
        guard source.peek() != nil else { return (count, nil) }
        while let entry = source.peek() {
          _ = source.take(withAttributes: false)
          offset = entry.nextOffset
          count += 1
        }
      } catch let error as FileError {
        return (count, error)
      }
    }
  }

  @Test func o3AListingWithoutEndFailsWhenTheMemoryForListingsIsFull() async throws {
    let store = ScriptedListings { number in
      let keys = (0..<1000).map { "f\((number * 1000 + $0).padded(9))" }
      return Self.page(keys, "t\(number)")
    }
    var options = FilesystemOptions()
    options.listingMemoryMax = 4 << 20
    let budget = MemoryBudget(limit: 8 << 20)
    let mount = try TestMount(options: options, front: store, memory: budget)
    let (count, failure) = try await read(mount)
    #expect(failure?.code == .noMemory)
    #expect(failure?.message.contains("--memory") == true)
    #expect(count > 10_000, "what arrived is shown before the failure")
    #expect(store.pageCount < 100, "\(store.pageCount) pages for 4 MiB")
    // The kernel's open directory is gone, and with it all that it took.
    #expect(budget.usedByteCount == 0)
  }

  @Test func o3ListingsAreBoundedAndTheLeastRecentlyUsedGoesFirst() async throws {
    var options = FilesystemOptions()
    options.listingMemoryMax = 40_000
    options.metadataTTL = .seconds(1000)
    let budget = MemoryBudget(limit: 1 << 20)
    let mount = try TestMount(options: options, memory: budget)
    for directory in 0..<20 {
      for number in 0..<50 { mount.place("d\(directory)/f\(number)") }
    }
    _ = try await mount.names()
    for directory in 0..<20 {
      let node = try await mount.node("d\(directory)")
      _ = try await mount.names(node)
      mount.clock.advance(by: .seconds(1))
      // One is used all the time.
      #expect(try await mount.lookup("f7", in: try await mount.node("d0")).node != nil)
      #expect(budget.usedByteCount <= 40_000)
      #expect(budget.usedByteCount > 0)
    }
    mount.store.forgetCalls()
    #expect(try await mount.lookup("none", in: try await mount.node("d0")).node == nil)
    #expect(try await mount.lookup("none", in: try await mount.node("d19")).node == nil)
    #expect(mount.store.calls.isEmpty, "both are still known")
    #expect(try await mount.lookup("none", in: try await mount.node("d1")).node == nil)
    #expect(!mount.store.calls.isEmpty, "this one had to go")
  }

  @Test func o3AFullBudgetStopsNoSmallDirectory() async throws {
    var options = FilesystemOptions()
    options.listingMemoryMax = 1
    let budget = MemoryBudget(limit: 1)
    let mount = try TestMount(options: options, memory: budget)
    for number in 0..<50 { mount.place("f\(number)") }
    #expect(try await mount.names().count == 50)
  }

  @Test func aTokenThatComesAgainFails() async throws {
    // Each page has news, so that only the tokens tell.
    let store = ScriptedListings { number in
      Self.page(["f\(number.padded(9))"], ["a", "b", "c"][number % 3])
    }
    let (_, failure) = try await read(try TestMount(front: store))
    #expect(failure?.code == .inputOutput)
    #expect(store.pageCount == 4)
  }

  @Test func emptyPagesAreReadOnButNotForEver() async throws {
    let some = ScriptedListings { number in
      number < 900 ? Self.page([], "t\(number)") : Self.page(["f"], nil)
    }
    #expect(try await TestMount(front: some).names() == ["f"])
    let endless = ScriptedListings { number in Self.page([], "t\(number)") }
    let (_, failure) = try await read(try TestMount(front: endless))
    #expect(failure?.code == .inputOutput)
    #expect(endless.pageCount <= ListingCourse.idlePageCountMax)
  }

  @Test func pagesWithNothingNewEnd() async throws {
    let repeating = ScriptedListings { number in Self.page(["a", "a!"], "t\(number)") }
    let (_, failure) = try await read(try TestMount(front: repeating))
    #expect(failure?.code == .inputOutput)
    #expect(repeating.pageCount <= ListingCourse.idlePageCountMax + 2)
    let hidden = ScriptedListings { number in
      Self.page([String(repeating: "x", count: 1100) + "\(number)"], "t\(number)")
    }
    let (_, other) = try await read(try TestMount(front: hidden))
    #expect(other?.code == .inputOutput, "names that can't be shown are no news")
  }

  @Test func keysOutOfOrderOrOutsideOrTwiceAreShownOnceEach() async throws {
    let pages = [
      Self.page(["m", "z", "b"], "1"), Self.page(["a", "m", "q"], "2"),
      Self.page(["b", "z", "c"], nil),
    ]
    let (count, failure) = try await read(try TestMount(front: ScriptedListings(pages)))
    #expect(failure == nil)
    #expect(count == 6 + 2)
    var options = FilesystemOptions()
    options.prefix = ObjectKey("p/")
    let outside = ScriptedListings([
      ListPage(
        objects: [Self.object("p/a"), Self.object("q/b"), Self.object("p")],
        commonPrefixes: [ObjectKey("q/"), ObjectKey("p/d/"), ObjectKey("p/")],
        nextToken: nil
      )
    ])
    #expect(try await TestMount(options: options, front: outside).names() == ["a", "d"])
  }

  @Test func anEmptyPageReleasesNoNameThatADirectoryMayTake() {
    var contents = ListingContents(prefix: ObjectKey(""), digest: .sha256)
    let now = Instant(nanoseconds: 0)
    _ = contents.append(Self.page(["a"], "1"), requestedAt: now, isLast: false)
    _ = contents.append(Self.page([], "2"), requestedAt: now, isLast: false)
    #expect(contents.count == 0)
    // The same key again and again is held back once.
    for _ in 0..<50 {
      _ = contents.append(Self.page(["a", "a", "a!"], "3"), requestedAt: now, isLast: false)
    }
    #expect(contents.heldBackCount == 2)
    _ = contents.append(Self.page([], nil), requestedAt: now, isLast: true)
    #expect(contents.count == 2)
  }

  @Test func courseTellsAHundredHiddenKeysAndCountsTheRest() {
    var course = ListingCourse()
    let told = (0..<250).count { _ in course.tells() }
    #expect(told == 100)
    #expect(course.untoldCount == 150)
    let ends = course.goesOn(withToken: nil, isNews: false)
    #expect(ends, "the last page may be empty")
  }
}
