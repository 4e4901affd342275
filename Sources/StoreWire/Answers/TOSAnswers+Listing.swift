package import Core

/// A page of ListObjectsType2.
private struct TOSListing: Decodable {
  struct Entry: Decodable {
    var key: String?
    var size: LooseNumber?
    var etag: String?
    var lastModified: String?
    var storageClass: String?
    var crc64: UInt64?

    private enum CodingKeys: String, CodingKey {
      case key = "Key"
      case size = "Size"
      case etag = "ETag"
      case lastModified = "LastModified"
      case storageClass = "StorageClass"
      // Spelled in each of these ways by the vendor's own clients.
      case checksum = "HashCrc64ecma"
      case checksumUpper = "HashCrc64Ecma"
      case checksumAllUpper = "HashCRC64ECMA"
    }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      key = try container.decodeIfPresent(String.self, forKey: .key)
      // An odd fact leaves the key and the others.
      size = try? container.decode(LooseNumber.self, forKey: .size)
      etag = try? container.decode(String.self, forKey: .etag)
      lastModified = try? container.decode(String.self, forKey: .lastModified)
      storageClass = try? container.decode(String.self, forKey: .storageClass)
      for key in [CodingKeys.checksum, .checksumUpper, .checksumAllUpper] where crc64 == nil {
        crc64 = (try? container.decode(LooseNumber.self, forKey: key))?.value
      }
    }
  }

  struct Prefix: Decodable {
    var prefix: String?

    enum CodingKeys: String, CodingKey {
      case prefix = "Prefix"
    }
  }

  var encoding: String?
  var isTruncated: Bool?
  var nextToken: String?
  var contents: [Lenient<Entry>]?
  var prefixes: [Lenient<Prefix>]?

  enum CodingKeys: String, CodingKey {
    case encoding = "EncodingType"
    case isTruncated = "IsTruncated"
    case nextToken = "NextContinuationToken"
    case contents = "Contents"
    case prefixes = "CommonPrefixes"
  }
}

extension TOSAnswers {
  /// Reads one page of ListObjectsType2.
  ///
  /// What `S3Answers.listing` says of odd entries and of pages that lead nowhere holds here too. A page
  /// may be short, or empty, although more follows; its lists may be missing or null.
  ///
  /// - Parameters:
  ///   - answer: the store's answer.
  ///   - request: the request that it answers.
  ///   - list: what was asked for.
  ///   - isFlat: true if the bucket is known to be flat. Elsewhere a directory that isn't there may be
  ///     told with 404, which is `.notFound`.
  /// - Returns: the page, and how many entries were left out of it.
  /// - Throws: `StoreError` if the store refused, or its page breaks the protocol.
  package static func listing(
    _ answer: WireAnswer,
    to request: WireRequest,
    list: ListRequest,
    isFlat: Bool
  ) throws(StoreError) -> ListAnswer {
    guard answer.isSuccess else {
      let error = error(answer, to: request)
      throw isFlat ? refusedListing(error) : error
    }
    if let hidden = TOSErrorDocument.hidden(in: answer) {
      throw error(answer, to: request, hidden)
    }
    let document: JSONDocument<TOSListing>
    do throws(JSONError) {
      document = try JSONDocument(answer.body)
    } catch {
      throw invalid(answer, to: request, "the answer can't be read: \(error)")
    }
    let page = document.value
    guard page.isTruncated != nil || page.contents != nil || page.prefixes != nil else {
      throw invalid(answer, to: request, "the answer is no listing")
    }
    var reader = ListingReader(
      prefix: list.prefix,
      isEncoded: page.encoding?.lowercased() == "url"
    )
    reader.objects.reserveCapacity(page.contents?.count ?? 0)
    for entry in page.contents ?? [] {
      guard let key = usable(entry.value?.key, document.isRepaired, &reader) else { continue }
      reader.addObject(Array(key.utf8), facts(entry.value))
    }
    for entry in page.prefixes ?? [] {
      guard let key = usable(entry.value?.prefix, document.isRepaired, &reader) else { continue }
      reader.addPrefix(Array(key.utf8))
    }
    do throws(ListingFault) {
      return try reader.answer(
        isTruncated: page.isTruncated,
        token: page.nextToken,
        sent: list.continuationToken
      )
    } catch {
      throw invalid(answer, to: request, error.message)
    }
  }

  /// Returns the key as the store has it; nil, with a word to the reader, if it can't be known.
  private static func usable(
    _ key: String?,
    _ isRepaired: Bool,
    _ reader: inout ListingReader
  ) -> String? {
    guard let key else {
      reader.skip("an entry has no key that can be read")
      return nil
    }
    guard !isRepaired || !key.unicodeScalars.contains("\u{FFFD}") else {
      reader.skip("\"\(key.shown(128) ?? "")\" is not UTF-8")
      return nil
    }
    return key
  }

  private static func facts(_ entry: TOSListing.Entry?) -> ListingReader.Facts {
    ListingReader.Facts(
      size: entry?.size?.sizeValue,
      etag: etag(entry?.etag),
      lastModified: entry?.lastModified.flatMap(WireDate.iso8601),
      storageClass: entry?.storageClass,
      crc64: entry?.crc64
    )
  }
}
