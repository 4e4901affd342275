import Core
import Glibc
import Simulation
import Support
import Testing

@testable import LocalStore

/// Listings of random trees against a sorted list of the same keys.
@Suite struct LocalStoreListingTests {
  private let context = RequestContext(deadline: SystemClock().now + .seconds(60))

  /// What S3's documentation says a listing is, done the slow way.
  private struct Model {
    let keys: [ObjectKey]

    func list(_ request: ListRequest) -> (objects: [ObjectKey], commonPrefixes: [ObjectKey]) {
      var objects: [ObjectKey] = []
      var prefixes: [ObjectKey] = []
      for key in keys where key.hasPrefix(request.prefix) {
        if let after = request.startAfter, key <= after { continue }
        let rest = key.bytes.dropFirst(request.prefix.bytes.count)
        if request.isDelimited, let slash = rest.firstIndex(of: UInt8(ascii: "/")) {
          let prefix = ObjectKey(key.bytes[...slash])
          if prefixes.last != prefix { prefixes.append(prefix) }
        } else {
          objects.append(key)
        }
      }
      return (objects, prefixes)
    }
  }

  /// Makes a tree of short names out of bytes around the slash, where the orders differ.
  private func makeTree(_ scratch: TestDirectory, _ random: inout Seeded) throws -> Model {
    let letters: [UInt8] = [0x20, 0x2C, 0x2D, 0x2E, 0x30, 0x61, 0xFF]
    var files: Set<[UInt8]> = []
    var directories: Set<[UInt8]> = []
    for _ in 0..<Int.random(in: 1...60, using: &random) {
      var path: [UInt8] = []
      for depth in 0..<Int.random(in: 1...4, using: &random) {
        if depth > 0 {
          directories.insert(path)
          path.append(UInt8(ascii: "/"))
        }
        let name = (0..<Int.random(in: 1...3, using: &random)).map { _ in
          letters.randomElement(using: &random) ?? 0x61
        }
        path += name == [0x2E] || name == [0x2E, 0x2E] ? [0x61] : name
      }
      // A last component now and then is an empty directory.
      if Int.random(in: 0..<8, using: &random) == 0 {
        directories.insert(path)
      } else {
        files.insert(path)
      }
    }
    files.subtract(directories)
    // Paths below a file can't be; whatever begins with a file's path and a slash is left out.
    let isBelowFile = { (path: [UInt8]) in
      path.indices.contains { index in
        path[index] == UInt8(ascii: "/") && files.contains(Array(path[..<index]))
      }
    }
    directories = directories.filter { !isBelowFile($0) }
    files = files.filter { !isBelowFile($0) }
    for directory in directories.sorted(by: { $0.count < $1.count }) {
      let path = Array((scratch.path + "/").utf8) + directory + [0]
      try retrying("make a directory") { mkdir(path.map { CChar(bitPattern: $0) }, 0o755) }
    }
    for file in files {
      let path = Array((scratch.path + "/").utf8) + file + [0]
      let number = try retrying("make a file") { creat(path.map { CChar(bitPattern: $0) }, 0o644) }
      close(number)
    }
    let empty = directories.filter { directory in
      !files.union(directories).contains { $0.starts(with: directory + [UInt8(ascii: "/")]) }
    }
    let keys = files.map { ObjectKey($0) } + empty.map { ObjectKey($0 + [UInt8(ascii: "/")]) }
    return Model(keys: keys.sorted())
  }

  private func list(
    _ store: LocalStore,
    _ request: ListRequest
  ) async throws -> (objects: [ObjectKey], commonPrefixes: [ObjectKey]) {
    var request = request
    var objects: [ObjectKey] = []
    var prefixes: [ObjectKey] = []
    while true {
      let page = try await store.list(request, context: context)
      #expect(page.objects.count + page.commonPrefixes.count <= request.countMax)
      objects += page.objects.map(\.key)
      prefixes += page.commonPrefixes
      guard let token = page.nextToken else { return (objects, prefixes) }
      #expect(page.objects.count + page.commonPrefixes.count == request.countMax)
      request.continuationToken = token
    }
  }

  @Test(arguments: 1...40)
  func aTreeIsListedInTheOrderOfItsKeys(_ seed: UInt64) async throws {
    var random = Seeded(seed)
    let scratch = try TestDirectory()
    let model = try makeTree(scratch, &random)
    let store = LocalStore(directory: scratch.path)
    for _ in 0..<30 {
      let some = model.keys.randomElement(using: &random)?.bytes ?? []
      let cut = Int.random(in: 0...some.count, using: &random)
      var after = model.keys.randomElement(using: &random)?.bytes ?? []
      after = Array(after.prefix(Int.random(in: 0...after.count, using: &random)))
      if Bool.random(using: &random) { after.append(UInt8.random(in: 1...255, using: &random)) }
      let request = ListRequest(
        prefix: ObjectKey(some.prefix(Bool.random(using: &random) ? cut : 0)),
        isDelimited: Bool.random(using: &random),
        startAfter: Bool.random(using: &random) ? ObjectKey(after) : nil,
        countMax: Int.random(in: 1...7, using: &random)
      )
      let expected = model.list(request)
      let got = try await list(store, request)
      #expect(got.objects == expected.objects, "seed \(seed): \(request)")
      #expect(got.commonPrefixes == expected.commonPrefixes, "seed \(seed): \(request)")
    }
  }

  @Test func aDirectoryThatChangesBetweenPagesIsReadAgain() async throws {
    let scratch = try TestDirectory()
    for number in 0..<30 { try scratch.write(to: "\(100 + number)") }
    let store = LocalStore(directory: scratch.path)
    var request = ListRequest(prefix: ObjectKey(""), isDelimited: false, countMax: 10)
    let first = try await store.list(request, context: context)
    #expect(first.objects.last?.key == ObjectKey("109"))
    try scratch.write(to: "110-new")
    unlink(scratch.path + "/111")
    request.continuationToken = first.nextToken
    let second = try await store.list(request, context: context)
    #expect(second.objects.prefix(3).map(\.key.description) == ["110", "110-new", "112"])
  }

  @Test func namesAreKeptOnlyOnceTheirDirectoryHasSettledAndUntilItChanges() throws {
    let scratch = try TestDirectory()
    try scratch.write(to: "a")
    let directory = try FileDescriptor.open(scratch.path, [.read, .directory])
    let unsettled = NamesCache(countMin: 1, settledAfter: .seconds(3600))
    #expect(try unsettled.names(of: directory, isRoot: true).count == 1)
    #expect(unsettled.isEmpty)
    let cache = NamesCache(countMin: 1, settledAfter: .zero)
    Pause.untilNextTick()
    #expect(try cache.names(of: directory, isRoot: true).count == 1)
    #expect(!cache.isEmpty)
    #expect(try cache.names(of: directory, isRoot: true).count == 1)
    try scratch.write(to: "b")
    #expect(try cache.names(of: directory, isRoot: true).count == 2)
    let large = NamesCache(countMin: 3, settledAfter: .zero)
    Pause.untilNextTick()
    #expect(try large.names(of: directory, isRoot: true).count == 2)
    #expect(large.isEmpty)
  }

  @Test func aTokenThatIsNotOursIsRefused() async throws {
    let scratch = try TestDirectory()
    let store = LocalStore(directory: scratch.path)
    for token in ["", "x", "b1", "bzz", "b6", "t61"] {
      let request = ListRequest(
        prefix: ObjectKey(""),
        isDelimited: false,
        continuationToken: token
      )
      let error = await #expect(throws: StoreError.self) {
        _ = try await store.list(request, context: context)
      }
      #expect(error?.kind == .invalidRequest, "\(token)")
    }
  }
}
