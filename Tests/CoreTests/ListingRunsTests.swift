import Core
import Simulation
import Testing

/// Listings in several places at once, of simulated stores.
@Suite struct ListingRunsTests {
  private struct Course {
    var names: [String] = []
    var requestCount = 0
    var didFail = false
  }

  private static let prefix = ObjectKey("d/")

  private static func store(
    _ keys: [String],
    pageCountMax: Int = 1000,
    isTreeOrder: Bool = false
  ) -> SimulatedStore {
    var behaviour = SimulatedStore.Behaviour()
    behaviour.pageCountMax = pageCountMax
    behaviour.listsInTreeOrder = isTreeOrder
    let store = SimulatedStore(behaviour: behaviour)
    for key in keys { store.place(ObjectKey("d/" + key), .text("x")) }
    return store
  }

  /// Lists `d/`; of the requests under way one chosen by `random` is answered first.
  private func list(
    _ store: SimulatedStore,
    latency: Duration = .milliseconds(20),
    random: inout Seeded,
    answering: (ListingRuns.Request, ListPage) -> ListPage = { $1 }
  ) async -> Course {
    var course = Course()
    var runs = ListingRuns(prefix: Self.prefix)
    var pending: [ListingRuns.Request] = []
    for _ in 0..<100_000 {
      pending += runs.requests()
      guard !pending.isEmpty else { break }
      let request = pending.remove(at: Int.random(in: pending.indices, using: &random))
      var list = ListRequest(prefix: Self.prefix, isDelimited: true)
      list.continuationToken = request.token
      list.startAfter = request.startAfter
      let context = RequestContext(deadline: .distantFuture)
      course.requestCount += 1
      guard let answer = try? await store.list(list, context: context) else {
        guard runs.failed(request) else { continue }
        course.didFail = true
        return course
      }
      let piece = ListingRuns.Piece(
        page: answering(request, answer),
        requestedAt: Instant(nanoseconds: 0)
      )
      for piece in runs.arrived(piece, for: request, after: latency) {
        course.names += piece.page.objects.map { String($0.key.description.dropFirst(2)) }
        course.names += piece.page.commonPrefixes.map { String($0.description.dropFirst(2)) }
        if piece.page.nextToken == nil { return course }
      }
    }
    Issue.record("the listing doesn't end")
    return course
  }

  private static func expected(_ keys: [String]) -> Set<String> {
    Set(
      keys.map { key in
        key.firstIndex(of: "/").map { String(key[...$0]) } ?? key
      }
    )
  }

  private static func hex(_ random: inout Seeded, _ count: Int) -> String {
    String((0..<count).map { _ in "0123456789abcdef".randomElement(using: &random) ?? "0" })
  }

  private static func digits(_ number: Int, _ count: Int) -> String {
    String(String(number + 1_000_000_000).suffix(count))
  }

  /// Ways to name many things.
  private static let schemes: [(name: String, make: @Sendable (Int, inout Seeded) -> String)] = [
    ("counter", { number, _ in "f" + digits(number, 6) }),
    ("counter with a suffix", { number, _ in "img_\(digits(number, 7)).jpg" }),
    ("counter with holes", { number, _ in "f" + digits(number * 3 + number % 3, 7) }),
    ("unpadded", { number, _ in "\(number)" }),
    (
      "dates",
      { number, _ in
        "2024-\(digits(number / 2000 % 12 + 1, 2))-\(digits(number / 80 % 28 + 1, 2))"
          + "T\(digits(number % 24, 2))-\(digits(number, 5)).log"
      }
    ),
    ("hashes", { _, random in hex(&random, 40) }),
    (
      "uuids",
      { _, random in "\(hex(&random, 8))-\(hex(&random, 4))-4\(hex(&random, 3))-\(hex(&random, 12))"
      }
    ),
    (
      "words",
      { _, random in
        String((0..<6).map { _ in "etaoinshrdlu".randomElement(using: &random) ?? "e" }) + "-x"
      }
    ),
    (
      "one long beginning",
      { number, _ in String(repeating: "long", count: 50) + digits(number, 6) }
    ),
    ("unicode", { number, _ in "\u{fc}\u{4e2d}\(digits(number, 6))" }),
    ("directories", { number, _ in "dir\(digits(number, 6))/x" }),
    (
      "mixed",
      { number, random in
        ["a\(number)", "f" + digits(number, 6), hex(&random, 9), "z/\(number)"][number % 4]
      }
    ),
  ]

  @Test(arguments: ListingRunsTests.schemes.map(\.name), [40, 200])
  func n5EveryNameIsListedAndFewRequestsAreLost(_ name: String, pageCountMax: Int) async throws {
    let scheme = try #require(Self.schemes.first { $0.name == name })
    for count in [pageCountMax * 3 / 2, pageCountMax * 5 / 2, pageCountMax * 30] {
      var random = Seeded(UInt64(count))
      let keys = (0..<count).map { scheme.make($0, &random) }
      let store = Self.store(keys, pageCountMax: pageCountMax)
      let course = await list(store, random: &random)
      let expected = Self.expected(keys)
      #expect(Set(course.names) == expected)
      // One page more holds what is in it.
      let pageCount = expected.count / pageCountMax + 1
      let limit = pageCount + pageCount / 10 + ListingRuns.lossMax
      #expect(course.requestCount <= limit, "\(course.requestCount) for \(pageCount) pages")
    }
  }

  @Test func aCounterIsListedInPagesThatMeet() async {
    var random = Seeded(1)
    let keys = (0..<20_000).map { "f" + Self.digits($0, 6) }
    let course = await list(Self.store(keys, pageCountMax: 200), random: &random)
    #expect(course.names.sorted() == keys, "each once")
    #expect(course.requestCount <= 101 + ListingRuns.windowMax)
  }

  @Test func severalPagesAreUnderWayAtOnceButNotTooMany() async {
    let store = Self.store((0..<4_000).map { "f" + Self.digits($0, 6) }, pageCountMax: 100)
    var runs = ListingRuns(prefix: Self.prefix)
    var mostCount = 0
    var pending = runs.requests()
    #expect(pending.count == 1, "the first tells whether it is large")
    var hasEnded = false
    while !hasEnded, !pending.isEmpty {
      let request = pending.removeFirst()
      var list = ListRequest(prefix: Self.prefix, isDelimited: true)
      list.continuationToken = request.token
      list.startAfter = request.startAfter
      guard let page = try? await store.list(list, context: .init(deadline: .distantFuture)) else {
        return
      }
      let piece = ListingRuns.Piece(page: page, requestedAt: Instant(nanoseconds: 0))
      let pieces = runs.arrived(piece, for: request, after: .milliseconds(20))
      hasEnded = pieces.contains { $0.page.nextToken == nil }
      pending += runs.requests()
      mostCount = max(mostCount, pending.count)
    }
    #expect(hasEnded)
    #expect(mostCount == ListingRuns.windowMax)
  }

  @Test func aFastStoreOrASmallDirectoryIsListedInTurn() async {
    var random = Seeded(2)
    let keys = (0..<1_000).map { "f" + Self.digits($0, 6) }
    let fast = await list(
      Self.store(keys, pageCountMax: 100),
      latency: .milliseconds(1),
      random: &random
    )
    #expect(fast.requestCount == 10)
    let small = await list(Self.store(keys, pageCountMax: 500), random: &random)
    #expect(small.requestCount == 2)
  }

  @Test(arguments: [false, true])
  func oddBucketsAreListedWholeHoweverPagesAreCut(isTreeOrder: Bool) async {
    let letters = ["a", "b", "-", "!", ".", "0", "1", "9", "~", "\u{e9}", " "]
    for seed in 0..<60 {
      var random = Seeded(UInt64(seed))
      let keys = (0..<Int.random(in: 1...400, using: &random)).map { _ in
        var key = ""
        for _ in 0..<Int.random(in: 1...5, using: &random) {
          key += letters.randomElement(using: &random) ?? "a"
        }
        return Int.random(in: 0..<3, using: &random) == 0 ? key + "/x" : key
      }
      let pageCountMax = [1, 2, 3, 7, 10, 25, 1000].randomElement(using: &random) ?? 1
      let store = Self.store(keys, pageCountMax: pageCountMax, isTreeOrder: isTreeOrder)
      let course = await list(store, random: &random)
      #expect(Set(course.names) == Self.expected(keys), "seed \(seed)")
    }
  }

  @Test func aDirectoryBesideAnObjectIsNotTakenForKnown() async {
    // Pages end between `f00042` and `f00042/` in every possible way, and runs overlap.
    let keys = (0..<300).flatMap { number in
      let name = "f" + Self.digits(number * number, 6)
      return [name, name + "-1", name + "-1/x", name + "/x"]
    }
    for isTreeOrder in [false, true] {
      for pageCountMax in 4..<24 {
        var random = Seeded(UInt64(pageCountMax))
        let store = Self.store(keys, pageCountMax: pageCountMax, isTreeOrder: isTreeOrder)
        let course = await list(store, random: &random)
        #expect(Set(course.names) == Self.expected(keys), "pages of \(pageCountMax)")
      }
    }
  }

  @Test func whateverRequestFailsNothingIsMissingWithoutAFailure() async {
    let keys = (0..<900).map { "f" + Self.digits($0 * 7, 6) }
    for callNumber in 1...30 {
      var random = Seeded(UInt64(callNumber))
      let store = Self.store(keys, pageCountMax: 50)
      store.faults.add(
        Fault(.fail(.serverFailure), operation: .listObjects, callNumber: callNumber)
      )
      let course = await list(store, random: &random)
      if !course.didFail { #expect(Set(course.names) == Set(keys), "call \(callNumber)") }
      #expect(callNumber > 2 || course.didFail, "what is waited for can't be done without")
    }
  }

  @Test func aStoreThatBeginsElsewhereIsListedInTurn() async {
    var random = Seeded(3)
    let keys = (0..<3_000).map { "f" + Self.digits($0, 6) }
    let store = Self.store(keys, pageCountMax: 100)
    let context = RequestContext(deadline: .distantFuture)
    let first = try? await store.list(
      ListRequest(prefix: Self.prefix, isDelimited: true),
      context: context
    )
    // It ignores `start-after`.
    let course = await list(store, random: &random) { request, page in
      request.startAfter == nil ? page : first ?? page
    }
    #expect(course.names.sorted() == keys, "each once")
    #expect(course.requestCount <= 30 + ListingRuns.lossMax)
  }

  @Test func aStoreWithoutOrderIsListedInTurn() async {
    var random = Seeded(4)
    let keys = (0..<3_000).map { "f" + Self.digits($0, 6) }
    let store = Self.store(keys, pageCountMax: 100)
    let course = await list(store, random: &random) { _, page in
      var page = page
      page.objects.swapAt(3, 4)
      return page
    }
    #expect(course.names.sorted() == keys, "each once")
    #expect(course.requestCount == 30)
  }

  @Test func whatIsAddedMeanwhileHidesNothing() async {
    for seed in 0..<20 {
      var random = Seeded(UInt64(seed))
      let keys = (0..<2_000).map { "f" + Self.digits($0 * 10, 6) }
      let store = Self.store(keys, pageCountMax: 100)
      var number = 0
      let course = await list(store, random: &random) { _, page in
        number += 1
        for added in 0..<30 {
          store.place(ObjectKey("d/f" + Self.digits(number * 977 % 20_000 + added, 6)), .text("y"))
        }
        return page
      }
      #expect(Set(course.names).isSuperset(of: keys), "seed \(seed)")
    }
  }
}
