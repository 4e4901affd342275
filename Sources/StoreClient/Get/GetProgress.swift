internal import Core

/// How far one `get` is, over all of its tries.
///
/// The first bytes fix the version; every later try asks for the rest of that version only.
struct GetProgress: Sendable {
  private let request: GetRequest
  /// Bytes that the sink has taken.
  private(set) var receivedCount = 0
  /// How many tries were made.
  var tryCount = 0
  private var etag: ETag?
  private var size: Int?
  /// What holds a version without a tag together.
  private(set) var lastModified: Timestamp?

  init(_ request: GetRequest) {
    self.request = request
    etag = request.ifMatch
    size = request.objectSize
    lastModified = request.lastModified
  }

  /// True if the sink has all bytes.
  var isComplete: Bool { receivedCount == request.range.count }

  /// The request for the missing bytes; there must be some.
  var rest: GetRequest {
    GetRequest(
      key: request.key,
      range: ByteRange(request.range.lowerBound + receivedCount, request.range.upperBound),
      ifMatch: etag,
      versionID: request.versionID,
      objectSize: size
    )
  }

  /// A try ended whose answer was taken; the sink took `count` more bytes.
  mutating func advanced(by count: Int, of metadata: ObjectMetadata) {
    receivedCount += count
    // Until there are bytes, the next answer may be of another version.
    guard receivedCount > 0 else { return }
    etag = etag ?? metadata.version.etag
    lastModified = lastModified ?? metadata.version.lastModified
    size = metadata.size
  }
}
