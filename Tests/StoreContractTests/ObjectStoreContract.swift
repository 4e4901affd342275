import Core
import Simulation
import Support
import Testing

/// What every store must do, as a list of claims: the seam's documentation in a form that runs.
///
/// A claim uses keys below a prefix of its own only, so that claims can share a bucket. Where a
/// server is known to be wrong, `Deviation` says so and the claim asks for what is left.
enum ObjectStoreContract {
  /// One claim.
  struct Claim: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let check: @Sendable (Setting) async throws -> Void

    init(_ claim: String, _ check: @escaping @Sendable (Setting) async throws -> Void) {
      testDescription = claim
      self.check = check
    }
  }

  /// All claims.
  static let claims: [Claim] =
    reading + listing + writing + describing + copying + multipart + extras + ending

  /// A store for one claim, and the prefix that is the claim's own.
  struct Setting: Sendable {
    let store: any ObjectStore
    let prefix: String
    let deviations: Set<Deviation>
    /// A context whose deadline doesn't matter.
    let context: RequestContext
    /// What the store lives in, for as long as it is used.
    var scratch: TestDirectory?

    func key(_ name: String) -> ObjectKey { ObjectKey(prefix + name) }

    func has(_ deviation: Deviation) -> Bool { deviations.contains(deviation) }
  }
}

// What claims are spelled with.
extension ObjectStoreContract.Setting {
  @discardableResult
  func put(
    _ name: String,
    _ bytes: [UInt8] = Array("content".utf8),
    condition: WriteCondition = .none,
    contentType: String? = nil,
    userMetadata: [String: String] = [:]
  ) async throws -> ObjectMetadata {
    let request = PutRequest(
      key: key(name),
      condition: condition,
      contentType: contentType,
      userMetadata: userMetadata
    )
    return try await store.put(request, body: .bytes(bytes), context: context)
  }

  func head(_ name: String, ifMatch: ETag? = nil) async throws -> ObjectMetadata {
    try await store.head(key(name), versionID: nil, ifMatch: ifMatch, context: context)
  }

  /// The bytes of a range; checks that they came in order and all of them.
  func get(_ name: String, _ range: ByteRange, ifMatch: ETag? = nil) async throws -> [UInt8] {
    let sink = CollectingSink()
    let request = GetRequest(key: key(name), range: range, ifMatch: ifMatch)
    _ = try await store.get(request, into: sink, context: context)
    #expect(sink.isContiguous)
    #expect(sink.firstOffset == range.lowerBound)
    return sink.bytes
  }

  /// All bytes of an object, fetched as its current version; nil if there is none.
  func bytes(_ name: String) async throws -> [UInt8]? {
    do {
      let metadata = try await head(name)
      guard metadata.size > 0 else { return [] }
      return try await get(name, ByteRange(0, metadata.size), ifMatch: metadata.version.etag)
    } catch let error as StoreError where error.kind == .notFound {
      return nil
    }
  }

  /// Checks that there is no object.
  func expectMissing(
    _ name: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let bytes = try await bytes(name)
    #expect(bytes == nil, sourceLocation: sourceLocation)
  }

  /// All pages of a listing below the prefix, joined, and checked for what holds of every page.
  func list(
    _ name: String = "",
    isDelimited: Bool = false,
    startAfter: String? = nil,
    countMax: Int = 1000
  ) async throws -> (objects: [ObjectMetadata], commonPrefixes: [ObjectKey], pageCount: Int) {
    let countMax = max(countMax, has(.endsPageBehindMarker) ? 2 : 1)
    var request = ListRequest(
      prefix: key(name),
      isDelimited: isDelimited,
      startAfter: startAfter.map(key),
      countMax: countMax
    )
    var objects: [ObjectMetadata] = []
    var commonPrefixes: [ObjectKey] = []
    for pageCount in 1...5000 {
      let page = try await store.list(request, context: context)
      #expect(page.objects.count + page.commonPrefixes.count <= countMax)
      objects += page.objects
      commonPrefixes += page.commonPrefixes
      guard let token = page.nextToken else {
        if has(.listsDirectories) { objects.removeAll { $0.key.isDirectoryMarker } }
        return (objects, commonPrefixes, pageCount)
      }
      request.continuationToken = token
      request.startAfter = nil
    }
    Issue.record("the listing does not end")
    return (objects, commonPrefixes, 0)
  }

  /// The names of a listing's keys below the prefix.
  func names(_ keys: [ObjectKey]) -> [String] {
    keys.map { String(decoding: $0.bytes.dropFirst(prefix.utf8.count), as: UTF8.self) }
  }

  func names(_ objects: [ObjectMetadata]) -> [String] { names(objects.map(\.key)) }

  /// Names in the order in which the store lists them, as far as it is known.
  func sorted(_ names: [String]) -> [String] {
    names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  /// Why `body` failed; nil, which no claim expects, if it didn't.
  func failure(_ body: () async throws -> Void) async -> StoreError.Kind? {
    do {
      try await body()
      return nil
    } catch let error as StoreError {
      #expect(!error.message.isEmpty)
      return error.kind
    } catch {
      Issue.record(error)
      return nil
    }
  }
}

/// Bytes of which any that is misplaced shows: blocks that start with their number.
func pattern(_ count: Int, seed: UInt8 = 0) -> [UInt8] {
  var block = (0..<4096).map { UInt8(truncatingIfNeeded: ($0 &* 31) ^ ($0 >> 8)) ^ seed }
  var bytes: [UInt8] = []
  bytes.reserveCapacity(count + block.count)
  for number in 0..<(count + block.count - 1) / block.count {
    for index in 0..<3 { block[index] = UInt8(truncatingIfNeeded: number >> (8 * index)) ^ seed }
    bytes.append(contentsOf: block)
  }
  bytes.removeLast(bytes.count - count)
  return bytes
}
