internal import Core
internal import Support

extension Bucket {
  /// A line of a listing.
  public struct Entry: Hashable, Sendable {
    /// What it is.
    public enum Kind: String, Hashable, Sendable {
      /// An object.
      case object
      /// All keys up to the next slash.
      case prefix
    }

    /// What it is.
    public let kind: Kind
    /// The bytes of the key, or of the prefix with its slash.
    public let key: [UInt8]
    /// The object's size in bytes; 0 for a prefix.
    public let size: Int
    /// When the object was last modified, as `2026-11-30T08:30:00Z`; nil for a prefix.
    public let lastModified: String?
    /// The object's tag without quotes; nil for a prefix.
    public let etag: String?
    /// The storage class in the store's spelling; nil for the standard one and for a prefix.
    public let storageClass: String?
  }

  /// Lists what starts with `prefix`, a page at a time, in the store's order.
  ///
  /// - Parameters:
  ///   - prefix: the bytes that each key starts with; empty for the whole bucket.
  ///   - isRecursive: true for every key; false to show keys that go on behind a slash as one prefix.
  ///   - deadline: how long each page may take.
  ///   - retryCountMax: how often a page is asked for again; nil leaves it to the deadline.
  ///   - body: is given each page, possibly an empty one; returns false to end the listing.
  /// - Throws: `DipperError` if a page can't be had.
  public func list(
    _ prefix: [UInt8],
    isRecursive: Bool = false,
    deadline: Duration = .seconds(60),
    retryCountMax: Int? = nil,
    _ body: ([Entry]) -> Bool
  ) async throws(DipperError) {
    var request = ListRequest(prefix: ObjectKey(prefix), isDelimited: !isRecursive)
    while true {
      let context = RequestContext(
        deadline: SystemClock().now + deadline,
        retryCountMax: retryCountMax
      )
      let page: ListPage
      do throws(StoreError) {
        page = try await store.list(request, context: context)
      } catch {
        throw DipperError(error)
      }
      guard body(Self.entries(of: page)) else { return }
      guard let token = page.nextToken else { return }
      guard token != request.continuationToken else {
        throw DipperError(.failed, "the store's listing does not end: it gives the same page again")
      }
      request.continuationToken = token
    }
  }

  /// Objects and prefixes of a page together, by their bytes where the page is so too.
  private static func entries(of page: ListPage) -> [Entry] {
    let objects = page.objects.map { object in
      Entry(
        kind: .object,
        key: object.key.bytes,
        size: object.size,
        lastModified: object.version.lastModified.iso8601,
        etag: object.version.etag?.value,
        storageClass: object.storageClass
      )
    }
    let prefixes = page.commonPrefixes.map { prefix in
      Entry(
        kind: .prefix,
        key: prefix.bytes,
        size: 0,
        lastModified: nil,
        etag: nil,
        storageClass: nil
      )
    }
    return (objects + prefixes).sorted { $0.key.lexicographicallyPrecedes($1.key) }
  }
}
