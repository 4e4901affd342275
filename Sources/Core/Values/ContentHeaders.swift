/// The header fields that an object is stored with and that every answer with its bytes repeats.
///
/// Stores keep them as they are; a multipart copy doesn't take them over by itself.
///
/// Source: Amazon S3 User Guide, "Working with object metadata"; TOS API reference, "PutObject".
package struct ContentHeaders: Hashable, Sendable {
  /// `Content-Type`, the media type.
  package var contentType: String?
  /// `Content-Encoding`; the bytes are served as stored.
  package var contentEncoding: String?
  /// `Content-Language`.
  package var contentLanguage: String?
  /// `Content-Disposition`.
  package var contentDisposition: String?
  /// `Cache-Control`.
  package var cacheControl: String?
  /// `Expires`, as it was written.
  package var expires: String?

  /// Creates headers of which only the media type may be given.
  package init(contentType: String? = nil) {
    self.contentType = contentType
  }

  /// The fields by name, those that are given.
  package var fields: [(name: String, value: String)] {
    Self.names.compactMap { name, path in self[keyPath: path].map { (name, $0) } }
  }

  /// Reads the fields of a request or an answer.
  package init(_ fields: HeaderFields) {
    for (name, path) in Self.names { self[keyPath: path] = fields[name] }
  }

  private static var names: [(String, WritableKeyPath<ContentHeaders, String?>)] {
    [
      ("Content-Type", \.contentType),
      ("Content-Encoding", \.contentEncoding),
      ("Content-Language", \.contentLanguage),
      ("Content-Disposition", \.contentDisposition),
      ("Cache-Control", \.cacheControl),
      ("Expires", \.expires),
    ]
  }
}
