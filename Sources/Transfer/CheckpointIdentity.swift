package import Core

/// What the bytes of a part file belong to: the head of its checkpoint.
package struct CheckpointIdentity: Hashable, Sendable {
  /// The bucket as the user named it, with its endpoint where the name leaves it open.
  package var store: String
  /// The object's version.
  package var version: ObjectVersion
  /// What the task was asked for beyond the version, by name, such as `target` and `part-size`.
  ///
  /// Empty in a mount's cache.
  package var task: [String: String]

  /// Creates an identity.
  package init(store: String, version: ObjectVersion, task: [String: String] = [:]) {
    self.store = store
    self.version = version
    self.task = task
  }

  /// Returns true if bytes of the one may be served as bytes of the other.
  package func isSameContent(as other: CheckpointIdentity) -> Bool {
    store == other.store && version.isSameContent(as: other.version)
  }

  /// Names of the task's fields have this before them, so that they can't be taken for ours.
  private static let taskPrefix = "task."

  /// The lines of the head after the first, and the line that ends it.
  var text: String {
    var text = "store \(PercentEncoding.encoded(store.utf8))\n"
    text += "key \(PercentEncoding.encoded(version.key.bytes))\n"
    if let etag = version.etag { text += "etag \(PercentEncoding.encoded(etag.value.utf8))\n" }
    text += "size \(version.size)\n"
    text += "last-modified \(version.lastModified.nanoseconds)\n"
    if let id = version.versionID { text += "version-id \(PercentEncoding.encoded(id.utf8))\n" }
    for (name, value) in task.sorted(by: { $0.key < $1.key }) {
      text += "\(Self.taskPrefix)\(name) \(PercentEncoding.encoded(value.utf8))\n"
    }
    return text + "ranges\n"
  }

  /// Reads the lines of the head; unknown fields are passed over.
  init(readingFrom lines: inout Lines) throws(Checkpoint.ParseError) {
    var fields: [String: [UInt8]] = [:]
    while true {
      guard let line = lines.next() else { throw .damaged("its head has no end") }
      if line.elementsEqual("ranges".utf8) { break }
      let words = line.split(
        separator: UInt8(ascii: " "),
        maxSplits: 1,
        omittingEmptySubsequences: false
      )
      guard words.count == 2, let value = PercentEncoding.decoded(words[1]) else {
        throw .damaged("a line of its head is not \"name value\"")
      }
      let name = String(decoding: words[0], as: UTF8.self)
      guard fields.updateValue(value, forKey: name) == nil else {
        throw .damaged("its head has \"\(name.utf8.printable)\" twice")
      }
    }
    guard let store = fields["store"], let key = fields["key"],
      let size = fields["size"]?[...].decimal, let modified = fields["last-modified"],
      let nanoseconds = Int64(String(decoding: modified, as: UTF8.self))
    else { throw .damaged("its head lacks the store, the key, the size or the time") }
    self.store = String(decoding: store, as: UTF8.self)
    version = ObjectVersion(
      key: ObjectKey(key),
      // The value itself: its spelling may begin and end in quotes of its own.
      etag: fields["etag"].map { ETag("\"" + String(decoding: $0, as: UTF8.self) + "\"") },
      size: size,
      lastModified: Timestamp(nanoseconds: nanoseconds),
      versionID: fields["version-id"].map { String(decoding: $0, as: UTF8.self) }
    )
    task = [:]
    for (name, value) in fields where name.hasPrefix(Self.taskPrefix) {
      task[String(name.dropFirst(Self.taskPrefix.count))] = String(decoding: value, as: UTF8.self)
    }
  }
}
