internal import Core

/// What an object is stored with besides its bytes.
public struct ObjectFacts: Hashable, Sendable {
  /// `Content-Type`, the media type.
  public var contentType: String?
  /// `Content-Encoding`.
  public var contentEncoding: String?
  /// `Content-Language`.
  public var contentLanguage: String?
  /// `Content-Disposition`.
  public var contentDisposition: String?
  /// `Cache-Control`.
  public var cacheControl: String?
  /// `Expires`, as a header spells it.
  public var expires: String?
  /// User metadata by name.
  public var metadata: [String: String]
  /// Tags by name.
  public var tags: [String: String]

  /// Creates facts, of which the most used may be given.
  public init(
    contentType: String? = nil,
    metadata: [String: String] = [:],
    tags: [String: String] = [:]
  ) {
    self.contentType = contentType
    self.metadata = metadata
    self.tags = tags
  }

  /// Creates facts from names and values as a command line gives them: the names of the header fields
  /// above are those, in any case, all others are user metadata.
  package init(named values: [String: String]) {
    self.init()
    for (name, value) in values {
      if let path = Self.headers[name.lowercased()] {
        self[keyPath: path] = value
      } else {
        metadata[name] = value
      }
    }
  }

  private static var headers: [String: WritableKeyPath<ObjectFacts, String?>] {
    [
      "content-type": \.contentType,
      "content-encoding": \.contentEncoding,
      "content-language": \.contentLanguage,
      "content-disposition": \.contentDisposition,
      "cache-control": \.cacheControl,
      "expires": \.expires,
    ]
  }

  var headers: ContentHeaders {
    var headers = ContentHeaders(contentType: contentType)
    headers.contentEncoding = contentEncoding
    headers.contentLanguage = contentLanguage
    headers.contentDisposition = contentDisposition
    headers.cacheControl = cacheControl
    headers.expires = expires
    return headers
  }

  /// User metadata as stores keep it: names have no case.
  var storedMetadata: [String: String] {
    Dictionary(metadata.map { ($0.key.lowercased(), $0.value) }, uniquingKeysWith: { $1 })
  }
}
