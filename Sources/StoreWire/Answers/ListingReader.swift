package import Core

/// A page of a listing, and what in it could not be used.
package struct ListAnswer: Hashable, Sendable {
  /// The page.
  package var page: ListPage
  /// What was left out, in words; for the log.
  package var skipped: [String]

  /// Creates an answer.
  package init(page: ListPage, skipped: [String] = []) {
    self.page = page
    self.skipped = skipped
  }
}

/// Turns the records of a page into objects and prefixes.
struct ListingReader {
  let prefix: ObjectKey
  let isEncoded: Bool
  var objects: [ObjectMetadata] = []
  var prefixes: [ObjectKey] = []
  var skipped: [String] = []
  /// How many entries there were.
  var entryCount = 0
  /// How many entries lie outside the prefix.
  var strangerCount = 0

  init(prefix: ObjectKey, isEncoded: Bool) {
    self.prefix = prefix
    self.isEncoded = isEncoded
  }

  /// What a listing says of an object, beside its key.
  ///
  /// It doesn't say whether an archived object has been restored: the read finds out.
  struct Facts {
    var size: Int?
    var etag: ETag?
    var lastModified: Timestamp?
    var storageClass: String?
    var crc64: UInt64?
  }

  mutating func addObject(_ text: [UInt8]?, _ facts: Facts) {
    guard let key = key(text) else { return }
    guard let size = facts.size else {
      skipped.append("\"\(shown(key))\" has no valid size")
      return
    }
    var metadata = ObjectMetadata(
      version: ObjectVersion(
        key: key,
        etag: facts.etag,
        size: size,
        lastModified: facts.lastModified ?? Timestamp(seconds: 0)
      )
    )
    metadata.storageClass = facts.storageClass.flatMap { $0.isEmpty ? nil : $0 }
    metadata.crc64 = facts.crc64
    objects.append(metadata)
  }

  mutating func addPrefix(_ text: [UInt8]?) {
    guard let key = key(text) else { return }
    guard key.isDirectoryMarker, key.bytes.count > prefix.bytes.count else {
      skipped.append("the common prefix \"\(shown(key))\" doesn't end in a slash behind the prefix")
      return
    }
    prefixes.append(key)
  }

  /// Passes an entry over.
  mutating func skip(_ reason: String) {
    entryCount += 1
    skipped.append(reason)
  }

  /// Decodes a key and checks that it belongs here.
  private mutating func key(_ text: [UInt8]?) -> ObjectKey? {
    entryCount += 1
    guard let text, !text.isEmpty else {
      skipped.append("an entry has no key")
      return nil
    }
    // A percent sign that encodes nothing shows that the store didn't encode this key after all.
    let key = ObjectKey(isEncoded ? PercentEncoding.decodeForm(text) ?? text : text)
    guard key.hasPrefix(prefix) else {
      strangerCount += 1
      skipped.append("\"\(shown(key))\" doesn't start with the prefix asked for")
      return nil
    }
    guard key.bytes.count <= ObjectKey.byteCountMax else {
      skipped.append("\"\(shown(key))\" has \(key.bytes.count) bytes, more than a key can have")
      return nil
    }
    return key
  }

  /// As much of a key as a line of a log should have.
  private func shown(_ key: ObjectKey) -> String {
    let countMax = 128
    return key.bytes.count <= countMax
      ? key.description : key.bytes.prefix(countMax).printable + "..."
  }

  /// The page, once all entries are in it; nil if every one of them lies outside the prefix.
  ///
  /// - Parameters:
  ///   - isTruncated: whether the store says that more follows; nil if it doesn't say.
  ///   - token: where it says that the next page begins.
  ///   - sent: the token that this page was asked by.
  /// - Returns: the page, and how many entries were left out of it.
  /// - Throws: `ListingFault`, which says in words what breaks the protocol.
  func answer(
    isTruncated: Bool?,
    token: String?,
    sent: String?
  ) throws(ListingFault) -> ListAnswer {
    guard entryCount == 0 || strangerCount < entryCount else {
      throw ListingFault("no entry of the listing has the prefix asked for")
    }
    var page = ListPage(objects: objects, commonPrefixes: prefixes, nextToken: nil)
    let token = token.flatMap { $0.isEmpty ? nil : $0 }
    if isTruncated ?? (token != nil) {
      guard let token else {
        throw ListingFault("the listing goes on, but the store doesn't say where")
      }
      guard token != sent else { throw ListingFault("the listing doesn't advance") }
      page.nextToken = token
    }
    return ListAnswer(page: page, skipped: skipped)
  }
}

/// In what a page breaks the protocol.
struct ListingFault: Error {
  /// One clause for a person.
  let message: String

  init(_ message: String) {
    self.message = message
  }
}
