internal import Core
internal import Support

/// An object's facts that a file has no place for, kept in its extended attributes.
///
/// On a file system without `user.` attributes (tmpfs before Linux 6.6, some network file systems)
/// they are not kept.
struct ObjectAttributes: Hashable, Sendable {
  /// Marks a directory as an object.
  static let markerName = "user.dipper.marker"
  private static let prefix = "user.dipper."
  private static let metadataPrefix = "user.dipper.meta."
  private static let tagPrefix = "user.dipper.tag."

  var headers = ContentHeaders()
  var userMetadata: [String: String] = [:]
  var tags: [String: String] = [:]

  /// The facts of a request.
  init(_ request: PutRequest) {
    headers = request.headers
    userMetadata = request.userMetadata
    tags = request.tags
  }

  /// The facts of an open file or directory.
  init(of file: FileDescriptor) throws(DiskFailure) {
    var fields = HeaderFields()
    for name in try file.attributeNames() where name.hasPrefix(Self.prefix) {
      guard let value = try file.attribute(name) else { continue }
      let text = String(decoding: value, as: UTF8.self)
      if name.hasPrefix(Self.metadataPrefix) {
        userMetadata[String(name.dropFirst(Self.metadataPrefix.count))] = text
      } else if name.hasPrefix(Self.tagPrefix) {
        tags[String(name.dropFirst(Self.tagPrefix.count))] = text
      } else {
        fields.append(String(name.dropFirst(Self.prefix.count)), text)
      }
    }
    headers = ContentHeaders(fields)
  }

  /// Gives the facts to a file or directory that has none.
  func set(on file: FileDescriptor) throws(DiskFailure) {
    let own = headers.fields.map { (Self.prefix + $0.name.lowercased(), $0.value) }
    let users = userMetadata.map { (Self.metadataPrefix + $0.key, $0.value) }
    for (name, value) in own + users + tags.map({ (Self.tagPrefix + $0.key, $0.value) }) {
      guard try file.setAttribute(name, Array(value.utf8)) else { return }
    }
  }

  /// Takes the facts of an object, the marker too, from a directory.
  static func remove(from file: FileDescriptor) throws(DiskFailure) {
    for name in try file.attributeNames() where name.hasPrefix(prefix) {
      try file.removeAttribute(name)
    }
  }

  /// All facts of an object, as HEAD gives them.
  func metadata(_ key: ObjectKey, _ facts: FileFacts) -> ObjectMetadata {
    var metadata = facts.metadata(key)
    metadata.headers = headers
    metadata.headers.contentType = headers.contentType ?? "application/octet-stream"
    metadata.userMetadata = userMetadata
    metadata.tagCount = tags.count
    return metadata
  }
}
