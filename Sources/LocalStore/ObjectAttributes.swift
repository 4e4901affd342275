internal import Core
internal import Support

/// An object's facts that a file has no place for, kept in its extended attributes.
///
/// On a file system without `user.` attributes (tmpfs before Linux 6.6, some network file systems)
/// they are not kept.
struct ObjectAttributes: Hashable, Sendable {
  /// Marks a directory as an object.
  static let markerName = "user.dipper.marker"
  private static let contentTypeName = "user.dipper.content-type"
  private static let metadataPrefix = "user.dipper.meta."

  var contentType: String?
  var userMetadata: [String: String] = [:]

  /// The facts of a request.
  init(_ request: PutRequest) {
    contentType = request.contentType
    userMetadata = request.userMetadata
  }

  /// The facts of an open file or directory.
  init(of file: FileDescriptor) throws(DiskFailure) {
    for name in try file.attributeNames() where name.hasPrefix("user.dipper.") {
      guard let value = try file.attribute(name) else { continue }
      let text = String(decoding: value, as: UTF8.self)
      if name == Self.contentTypeName {
        contentType = text
      } else if name.hasPrefix(Self.metadataPrefix) {
        userMetadata[String(name.dropFirst(Self.metadataPrefix.count))] = text
      }
    }
  }

  /// Gives the facts to a file or directory that has none.
  func set(on file: FileDescriptor) throws(DiskFailure) {
    if let contentType {
      guard try file.setAttribute(Self.contentTypeName, Array(contentType.utf8)) else { return }
    }
    for (name, value) in userMetadata {
      guard try file.setAttribute(Self.metadataPrefix + name, Array(value.utf8)) else { return }
    }
  }

  /// Takes the facts of an object, the marker too, from a directory.
  static func remove(from file: FileDescriptor) throws(DiskFailure) {
    for name in try file.attributeNames() where name.hasPrefix("user.dipper.") {
      try file.removeAttribute(name)
    }
  }

  /// All facts of an object, as HEAD gives them.
  func metadata(_ key: ObjectKey, _ facts: FileFacts) -> ObjectMetadata {
    var metadata = facts.metadata(key)
    metadata.contentType = contentType ?? "application/octet-stream"
    metadata.userMetadata = userMetadata
    return metadata
  }
}
