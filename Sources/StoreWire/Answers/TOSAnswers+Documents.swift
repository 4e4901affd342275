package import Core

extension TOSAnswers {
  /// Reads the answer to CopyObject, whose 200 may hold an error.
  package static func copied(
    _ answer: WireAnswer,
    to request: WireRequest
  ) throws(StoreError) -> WriteAnswer {
    let document: TOSCopy = try document(answer, to: request)
    guard let etag = etag(document.etag) else {
      throw invalid(answer, to: request, "the answer has no tag of the copy")
    }
    return WriteAnswer(
      etag: etag,
      lastModified: document.lastModified.flatMap(WireDate.iso8601),
      date: answer.date,
      versionID: versionID(answer.fields),
      crc64: checksum(answer.fields)
    )
  }

  /// Reads the answer to UploadPartCopy, whose 200 may hold an error.
  package static func copiedPart(
    _ answer: WireAnswer,
    to request: WireRequest
  ) throws(StoreError) -> PartAnswer {
    let document: TOSCopy = try document(answer, to: request)
    guard let etag = etag(document.etag) else {
      throw invalid(answer, to: request, "the answer has no tag of the part")
    }
    return PartAnswer(etag: etag, crc64: checksum(answer.fields))
  }

  /// Reads the answer to CreateMultipartUpload and returns the upload's id.
  package static func createdUpload(
    _ answer: WireAnswer,
    to request: WireRequest
  ) throws(StoreError) -> String {
    let document: TOSCreatedUpload = try document(answer, to: request)
    guard let uploadID = document.uploadID, (1...4096).contains(uploadID.utf8.count) else {
      throw invalid(answer, to: request, "the answer has no id of the upload")
    }
    return uploadID
  }

  /// Reads the answer to CompleteMultipartUpload, whose 200 may hold an error.
  package static func completedUpload(
    _ answer: WireAnswer,
    to request: WireRequest
  ) throws(StoreError) -> CompletedUpload {
    let document: TOSCopy = try document(answer, to: request)
    guard let etag = etag(document.etag ?? answer.fields["ETag"]) else {
      throw invalid(answer, to: request, "the answer has no tag of the object")
    }
    return CompletedUpload(
      etag: etag,
      crc64: checksum(answer.fields),
      versionID: versionID(answer.fields)
    )
  }

  /// Reads one page of ListParts.
  ///
  /// - Throws: `.invalidAnswer` also if a part has no number or tag, because a part that is missed
  ///   would be sent again, and if the pages don't advance.
  package static func parts(
    _ answer: WireAnswer,
    to request: WireRequest,
    after marker: Int?
  ) throws(StoreError) -> PartsPage {
    let document: TOSPartsDocument = try document(answer, to: request)
    var parts: [UploadedPart] = []
    for part in document.parts ?? [] {
      guard (1...10_000).contains(part.number), let etag = etag(part.etag) else {
        throw invalid(answer, to: request, "the answer has a part without a number or a tag")
      }
      parts.append(
        UploadedPart(
          partNumber: part.number,
          etag: etag,
          size: part.size?.sizeValue,
          crc64: part.crc64?.value
        )
      )
    }
    let page = PartsPage(
      parts,
      isTruncated: document.isTruncated ?? false,
      next: document.nextMarker,
      after: marker
    )
    guard let page else {
      throw invalid(answer, to: request, "the pages of the parts don't advance")
    }
    return page
  }

  /// Reads one page of ListMultipartUploads.
  ///
  /// - Throws: `.invalidAnswer` also if the pages don't advance.
  package static func uploads(
    _ answer: WireAnswer,
    to request: WireRequest,
    prefix: ObjectKey,
    after marker: UploadReference?
  ) throws(StoreError) -> UploadsPage {
    let document: TOSUploadsDocument = try document(answer, to: request)
    let isEncoded = document.encoding?.lowercased() == "url"
    func key(_ text: String?) -> ObjectKey {
      let bytes = Array((text ?? "").utf8)
      return ObjectKey(isEncoded ? PercentEncoding.decodeForm(bytes) ?? bytes : bytes)
    }
    var page = UploadsPage()
    for upload in document.uploads ?? [] {
      guard let upload = upload.value else { continue }
      page.add(
        key(upload.key),
        id: upload.uploadID,
        initiated: upload.initiated.flatMap(WireDate.iso8601),
        prefix: prefix
      )
    }
    guard document.isTruncated == true else { return page }
    let next = UploadReference(
      key: key(document.nextKeyMarker),
      uploadID: document.nextUploadIDMarker ?? ""
    )
    guard page.goesOn(at: next, after: marker) else {
      throw invalid(answer, to: request, "the pages of the uploads don't advance")
    }
    return page
  }

  /// Reads the answer to DeleteMultiObjects, whose 200 holds an error for each key that stayed.
  ///
  /// - Returns: why, by key, for those of `keys` that could not be removed.
  /// - Throws: `.invalidAnswer` also if the answer blames a key that wasn't named: then it can't be
  ///   trusted about the others.
  package static func deletedObjects(
    _ answer: WireAnswer,
    to request: WireRequest,
    keys: [ObjectKey]
  ) throws(StoreError) -> [ObjectKey: StoreError] {
    let document: TOSDeletionDocument = try document(answer, to: request)
    var failures: [ObjectKey: StoreError] = [:]
    let named = Set(keys)
    for entry in document.errors ?? [] {
      let key = ObjectKey(entry.key ?? "")
      guard named.contains(key) else {
        throw invalid(answer, to: request, "the answer blames a key that was not to be removed")
      }
      var failure = error(answer, to: request, entry.error)
      failure.key = key
      // Gone is what was wanted.
      if failure.kind != .notFound { failures[key] = failure }
    }
    return failures
  }

  /// Reads the answer to GetObjectTagging.
  package static func tags(
    _ answer: WireAnswer,
    to request: WireRequest
  ) throws(StoreError) -> [String: String] {
    let document: TOSTagsDocument = try document(answer, to: request)
    var tags: [String: String] = [:]
    for tag in document.set?.tags ?? [] {
      guard !tag.name.isEmpty else {
        throw invalid(answer, to: request, "the answer has a tag without a name")
      }
      tags[tag.name] = tag.value ?? ""
    }
    return tags
  }

  /// Reads the answer to GetFileStatus: the object at the key, or else the first below it.
  package static func fileStatus(
    _ answer: WireAnswer,
    to request: WireRequest,
    key: ObjectKey
  ) throws(StoreError) -> KeyStatus {
    if answer.status == 404 {
      let error = error(answer, to: request)
      guard error.kind == .notFound else { throw error }
      return .nothing
    }
    let document: TOSFileStatus = try document(answer, to: request)
    guard let found = document.key.map({ ObjectKey($0) }), found.hasPrefix(key) else {
      throw invalid(answer, to: request, "the answer is about another key")
    }
    guard found == key else {
      let isBelow = key.isDirectoryMarker || found.bytes[key.bytes.count] == UInt8(ascii: "/")
      return isBelow ? .prefix : .nothing
    }
    guard let size = document.size?.sizeValue else {
      throw invalid(answer, to: request, "the store doesn't say how large the object is")
    }
    var metadata = ObjectMetadata(
      version: ObjectVersion(
        key: key,
        etag: etag(document.etag),
        size: size,
        lastModified: document.lastModified.flatMap { WireDate.iso8601($0) ?? WireDate.http($0) }
          ?? Timestamp(seconds: 0)
      )
    )
    metadata.crc64 = document.crc64?.value
    return .object(metadata)
  }

  /// Reads the document of a successful answer; throws the error in it or instead of it.
  static func document<Document: Decodable>(
    _ answer: WireAnswer,
    to request: WireRequest
  ) throws(StoreError) -> Document {
    guard answer.isSuccess else { throw error(answer, to: request) }
    if let hidden = TOSErrorDocument.hidden(in: answer) {
      throw error(answer, to: request, hidden)
    }
    do throws(JSONError) {
      return try JSONDocument(answer.body, as: Document.self).value
    } catch {
      throw invalid(answer, to: request, "the answer can't be read: \(error)")
    }
  }
}

extension LooseNumber {
  /// The number as an object's size: at most 64 PiB, as `sizeValue` of digits is.
  var sizeValue: Int? {
    value.flatMap { $0 <= 1 << 56 ? Int($0) : nil }
  }
}
