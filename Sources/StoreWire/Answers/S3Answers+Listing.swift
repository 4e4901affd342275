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

extension S3Answers {
  /// Reads one page of ListObjectsV2.
  ///
  /// One odd entry never breaks its neighbours: an entry without a key or with a size that isn't
  /// one, keys that are longer than a key can be, and keys and prefixes that don't belong to what
  /// was asked for, are left out and reported. The page as a whole is `.invalidAnswer` if it is not a listing, if it has entries
  /// but every one of them lies outside the prefix (then it answers another question), or if it
  /// leads nowhere (more to come without a token, or with the token that was sent).
  ///
  /// Keys come in the form that `encoding-type=url` asks for: `%XX`, and `+` for a space. A store
  /// that ignored the parameter doesn't name it in its answer, and its keys are taken as they are.
  /// Observed: SeaweedFS writes `+`, radosgw `%2F`, moto `%20`.
  package static func listing(
    _ answer: WireAnswer,
    to request: WireRequest,
    list: ListRequest
  ) throws(StoreError) -> ListAnswer {
    let document = try self.document(answer, to: request, root: "ListBucketResult")
    var reader = ListingReader(
      prefix: list.prefix,
      isEncoded: document.fields.text("EncodingType")?.lowercased() == "url"
    )
    reader.objects.reserveCapacity(document.records.count)
    for (name, record) in document.records {
      switch name {
      case "Contents": reader.addObject(record)
      case "CommonPrefixes": reader.addPrefix(record)
      default: break
      }
    }
    guard reader.entryCount == 0 || reader.strangerCount < reader.entryCount else {
      throw invalid(answer, to: request, "no entry of the listing has the prefix asked for")
    }
    return ListAnswer(
      page: ListPage(
        objects: reader.objects,
        commonPrefixes: reader.prefixes,
        nextToken: try nextToken(document.fields, answer, to: request, list: list)
      ),
      skipped: reader.skipped
    )
  }

  private static func nextToken(
    _ fields: XMLFields,
    _ answer: WireAnswer,
    to request: WireRequest,
    list: ListRequest
  ) throws(StoreError) -> String? {
    let token = fields.text("NextContinuationToken").flatMap { $0.isEmpty ? nil : $0 }
    switch fields.text("IsTruncated")?.lowercased() {
    case "false": return nil
    case nil where token == nil: return nil
    case "true", nil: break
    default:
      throw invalid(answer, to: request, "the listing doesn't say whether it goes on")
    }
    guard let token else {
      throw invalid(answer, to: request, "the listing goes on, but the store doesn't say where")
    }
    guard token != list.continuationToken else {
      throw invalid(answer, to: request, "the listing doesn't advance")
    }
    return token
  }
}

/// Turns the records of a page into objects and prefixes.
private struct ListingReader {
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

  mutating func addObject(_ record: XMLFields) {
    guard let key = key("Key", of: record) else { return }
    guard let size = record["Size"]?.trimmed.sizeValue else {
      skipped.append("\"\(key)\" has no valid size")
      return
    }
    var metadata = ObjectMetadata(
      version: ObjectVersion(
        key: key,
        etag: S3Answers.etag(record.text("ETag")),
        size: size,
        lastModified: record["LastModified"].flatMap(WireDate.iso8601)
          ?? Timestamp(seconds: 0)
      )
    )
    // A listing doesn't say whether an archived object has been restored: the read finds out.
    metadata.storageClass = record.text("StorageClass").flatMap { $0.isEmpty ? nil : $0 }
    objects.append(metadata)
  }

  mutating func addPrefix(_ record: XMLFields) {
    guard let key = key("Prefix", of: record) else { return }
    guard key.isDirectoryMarker, key.bytes.count > prefix.bytes.count else {
      skipped.append("the common prefix \"\(key)\" doesn't end in a slash behind the prefix")
      return
    }
    prefixes.append(key)
  }

  /// Decodes a key and checks that it belongs here.
  private mutating func key(_ name: String, of record: XMLFields) -> ObjectKey? {
    entryCount += 1
    if let beginning = record.leftOut.first(where: { $0.name == name })?.beginning {
      skipped.append("a key that begins with \"\(beginning.printable)\" is over 64 KiB long")
      return nil
    }
    guard let text = record[name], !text.isEmpty else {
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
}

extension [UInt8] {
  /// The bytes without white space at their ends.
  fileprivate var trimmed: ArraySlice<UInt8> {
    func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
    guard let first = firstIndex(where: { !isSpace($0) }),
      let last = lastIndex(where: { !isSpace($0) })
    else { return [] }
    return self[first...last]
  }
}
