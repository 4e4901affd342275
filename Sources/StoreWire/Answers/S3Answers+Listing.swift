package import Core

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
    guard answer.isSuccess else { throw refusedListing(error(answer, to: request)) }
    let document = try self.document(answer, to: request, root: "ListBucketResult")
    var reader = ListingReader(
      prefix: list.prefix,
      isEncoded: document.fields.text("EncodingType")?.lowercased() == "url"
    )
    reader.objects.reserveCapacity(document.records.count)
    for (name, record) in document.records {
      switch name {
      case "Contents":
        if let reason = tooLong("Key", of: record) {
          reader.skip(reason)
        } else {
          reader.addObject(record["Key"], facts(record))
        }
      case "CommonPrefixes":
        if let reason = tooLong("Prefix", of: record) {
          reader.skip(reason)
        } else {
          reader.addPrefix(record["Prefix"])
        }
      default: break
      }
    }
    do throws(ListingFault) {
      return try reader.answer(
        isTruncated: try isTruncated(document.fields),
        token: document.fields.text("NextContinuationToken"),
        sent: list.continuationToken
      )
    } catch {
      throw invalid(answer, to: request, error.message)
    }
  }

  private static func facts(_ record: XMLFields) -> ListingReader.Facts {
    ListingReader.Facts(
      size: record["Size"]?.trimmed.sizeValue,
      etag: etag(record.text("ETag")),
      lastModified: record["LastModified"].flatMap(WireDate.iso8601),
      storageClass: record.text("StorageClass")
    )
  }

  /// What to say of a key that is too long to be read; nil if it isn't.
  private static func tooLong(_ name: String, of record: XMLFields) -> String? {
    record.leftOut.first { $0.name == name }
      .map { "a key that begins with \"\($0.beginning.printable)\" is over 64 KiB long" }
  }

  private static func isTruncated(_ fields: XMLFields) throws(ListingFault) -> Bool? {
    switch fields.text("IsTruncated")?.lowercased() {
    case "true": return true
    case "false": return false
    case nil: return nil
    default: throw ListingFault("the listing doesn't say whether it goes on")
    }
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
