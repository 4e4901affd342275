package import Core

/// What the bytes or parts of an unfinished task belong to: the head of its checkpoint.
///
/// Of a task with an upload it names the source: what the parts are parts of.
package struct CheckpointIdentity: Hashable, Sendable {
  /// The bucket as the user named it, with its endpoint where the name leaves it open.
  package var store: String
  /// The object's version.
  package var version: ObjectVersion
  /// What the task was asked for beyond the version, by name, such as `target` and `part-size`.
  ///
  /// Empty in a mount's cache.
  package var task: [String: String]
  /// The unfinished upload that the parts are in; nil for a download.
  package var upload: UploadTarget?

  /// Creates an identity.
  package init(
    store: String,
    version: ObjectVersion,
    task: [String: String] = [:],
    upload: UploadTarget? = nil
  ) {
    self.store = store
    self.version = version
    self.task = task
    self.upload = upload
  }

  /// Returns true if bytes of the one may be served as bytes of the other.
  package func isSameContent(as other: CheckpointIdentity) -> Bool {
    store == other.store && version.isSameContent(as: other.version)
  }

  /// Names of the task's fields have this before them, so that they can't be taken for ours.
  private static let taskPrefix = "task."

  /// The first words of every checkpoint; the format's version follows.
  private static let firstWords = "dipper checkpoint "

  /// The word that ends the head of a download's checkpoint.
  private static let rangesWord = "ranges"
  /// The word that ends the head of an upload's checkpoint.
  private static let partsWord = "parts"

  /// Returns true if a text says of itself that it is a checkpoint.
  static func isHead(of text: [UInt8]) -> Bool { text.starts(with: firstWords.utf8) }

  /// What kind of task the checkpoint is of, as messages name it.
  var kind: String { upload == nil ? "download" : task["kind"] ?? "upload" }

  /// The head: the first line, a line per field, and the line that ends it.
  var text: String {
    var text = "\(Self.firstWords)\(Checkpoint.formatVersion)\n"
    text += "store \(PercentEncoding.encoded(store.utf8))\n"
    text += "key \(PercentEncoding.encoded(version.key.bytes))\n"
    if let etag = version.etag { text += "etag \(PercentEncoding.encoded(etag.value.utf8))\n" }
    text += "size \(version.size)\n"
    text += "last-modified \(version.lastModified.nanoseconds)\n"
    if let id = version.versionID { text += "version-id \(PercentEncoding.encoded(id.utf8))\n" }
    if let upload {
      text += "target-store \(PercentEncoding.encoded(upload.store.utf8))\n"
      text += "target-key \(PercentEncoding.encoded(upload.reference.key.bytes))\n"
      text += "upload-id \(PercentEncoding.encoded(upload.reference.uploadID.utf8))\n"
    }
    for (name, value) in task.sorted(by: { $0.key < $1.key }) {
      text += "\(Self.taskPrefix)\(name) \(PercentEncoding.encoded(value.utf8))\n"
    }
    return text + (upload == nil ? Self.rangesWord : Self.partsWord) + "\n"
  }

  /// Reads the head; unknown fields are passed over.
  init(readingFrom lines: inout Lines) throws(Checkpoint.ParseError) {
    guard let first = lines.next() else { throw .damaged("it is empty or has no whole line") }
    guard first.starts(with: Self.firstWords.utf8) else {
      throw .damaged("its first line is not \"\(Self.firstWords)N\"")
    }
    let formatVersion = first.dropFirst(Self.firstWords.utf8.count).printable
    guard formatVersion == "\(Checkpoint.formatVersion)" else {
      throw .unknownVersion(formatVersion)
    }
    let (fields, end) = try Self.fields(&lines)
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
    if end == Self.partsWord { upload = try UploadTarget(fields) }
  }

  /// Reads the lines up to the word that ends the head.
  private static func fields(
    _ lines: inout Lines
  ) throws(Checkpoint.ParseError) -> (fields: [String: [UInt8]], end: String) {
    var fields: [String: [UInt8]] = [:]
    while true {
      guard let line = lines.next() else { throw .damaged("its head has no end") }
      for end in [rangesWord, partsWord] where line.elementsEqual(end.utf8) {
        return (fields, end)
      }
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
  }
}

/// The unfinished upload that a checkpoint's parts are in.
package struct UploadTarget: Hashable, Sendable {
  /// The bucket that it is in, as the user named it, with its endpoint.
  package var store: String
  /// Its key and the store's id for it.
  package var reference: UploadReference

  /// Creates a target.
  package init(store: String, reference: UploadReference) {
    self.store = store
    self.reference = reference
  }

  fileprivate init(_ fields: [String: [UInt8]]) throws(Checkpoint.ParseError) {
    guard let store = fields["target-store"], let key = fields["target-key"],
      let id = fields["upload-id"], !id.isEmpty
    else { throw .damaged("its head lacks the upload's store, key or id") }
    self.store = String(decoding: store, as: UTF8.self)
    reference = UploadReference(
      key: ObjectKey(key),
      uploadID: String(decoding: id, as: UTF8.self)
    )
  }
}
