package import Core

extension S3Answers {
  /// Reads the answer to GetBucketLocation.
  package static func location(
    _ answer: WireAnswer,
    to request: WireRequest
  ) throws(StoreError) -> String {
    let document = try self.document(answer, to: request, root: "LocationConstraint")
    // Source: Amazon S3 API Reference, "GetBucketLocation": the oldest two regions have no name.
    switch String(decoding: document.text, as: UTF8.self) {
    case "": return "us-east-1"
    case "EU": return "eu-west-1"
    case let region: return region
    }
  }

  /// Reads the answer to CopyObject, whose 200 may hold an error.
  package static func copied(
    _ answer: WireAnswer,
    to request: WireRequest
  ) throws(StoreError) -> WriteAnswer {
    let document = try self.document(answer, to: request, root: "CopyObjectResult")
    guard let etag = etag(document.fields.text("ETag")) else {
      throw invalid(answer, to: request, "the answer has no tag of the copy")
    }
    return WriteAnswer(
      etag: etag,
      lastModified: document.fields["LastModified"].flatMap(WireDate.iso8601),
      date: answer.date,
      versionID: versionID(answer.fields)
    )
  }

  /// Reads the answer to UploadPartCopy, whose 200 may hold an error.
  package static func copiedPart(
    _ answer: WireAnswer,
    to request: WireRequest
  ) throws(StoreError) -> ETag {
    let document = try self.document(answer, to: request, root: "CopyPartResult")
    guard let etag = etag(document.fields.text("ETag")) else {
      throw invalid(answer, to: request, "the answer has no tag of the part")
    }
    return etag
  }

  /// Reads the answer to CreateMultipartUpload and returns the upload's id.
  package static func createdUpload(
    _ answer: WireAnswer,
    to request: WireRequest
  ) throws(StoreError) -> String {
    let document = try self.document(answer, to: request, root: "InitiateMultipartUploadResult")
    guard let uploadID = document.fields.text("UploadId"), !uploadID.isEmpty,
      uploadID.utf8.count <= 4096
    else { throw invalid(answer, to: request, "the answer has no id of the upload") }
    return uploadID
  }

  /// Reads the answer to CompleteMultipartUpload, whose 200 may hold an error.
  package static func completedUpload(
    _ answer: WireAnswer,
    to request: WireRequest
  ) throws(StoreError) -> CompletedUpload {
    let document = try self.document(answer, to: request, root: "CompleteMultipartUploadResult")
    guard let etag = etag(document.fields.text("ETag")) else {
      throw invalid(answer, to: request, "the answer has no tag of the object")
    }
    return CompletedUpload(etag: etag, versionID: versionID(answer.fields))
  }

  /// Reads one page of ListParts.
  ///
  /// - Throws: `.invalidAnswer` also if a part has no number or tag, because a part that is missed
  ///   would be sent again, and if the pages don't advance.
  package static func parts(
    _ answer: WireAnswer,
    to request: WireRequest,
    after marker: Int? = nil
  ) throws(StoreError) -> PartsPage {
    var parts: [UploadedPart] = []
    let document = try self.document(
      answer,
      to: request,
      root: "ListPartsResult",
      // Workaround: so moto 5.2 spells it.
      alternative: "ListPartsResponse"
    )
    for (name, record) in document.records where name == "Part" {
      guard let number = record["PartNumber"]?.decimalValue, (1...10_000).contains(number),
        let etag = etag(record.text("ETag"))
      else {
        throw invalid(answer, to: request, "the answer has a part without a number or a tag")
      }
      parts.append(
        UploadedPart(partNumber: number, etag: etag, size: record["Size"]?.sizeValue)
      )
    }
    let isTruncated = document.fields.text("IsTruncated") == "true"
    let next = document.fields["NextPartNumberMarker"]?.decimalValue
    guard let page = PartsPage(parts, isTruncated: isTruncated, next: next, after: marker) else {
      throw invalid(answer, to: request, "the pages of the parts don't advance")
    }
    return page
  }

  /// Reads the answer to GetObjectTagging.
  package static func tags(
    _ answer: WireAnswer,
    to request: WireRequest
  ) throws(StoreError) -> [String: String] {
    let document = try self.document(answer, to: request, root: "TagSet", outerCount: 1)
    var tags: [String: String] = [:]
    for (name, record) in document.records where name == "Tag" {
      guard let name = record.text("Key"), !name.isEmpty, let value = record.text("Value") else {
        throw invalid(answer, to: request, "the answer has a tag without a name or a value")
      }
      tags[name] = value
    }
    return tags
  }

  /// Reads the document of a successful answer; throws the error in it or instead of it.
  static func document(
    _ answer: WireAnswer,
    to request: WireRequest,
    root: String,
    alternative: String? = nil,
    outerCount: Int = 0
  ) throws(StoreError) -> XMLDocument {
    guard answer.isSuccess else { throw error(answer, to: request) }
    let document: XMLDocument
    do {
      document = try XMLDocument(answer.body, outerCount: outerCount)
    } catch {
      throw invalid(answer, to: request, "the answer can't be read: \(error)")
    }
    guard document.root != "Error" else {
      throw error(answer, to: request, body: document.fields)
    }
    guard document.root == root || alternative.map({ document.root == $0 }) ?? false else {
      let name = document.root.shown(64) ?? "nothing"
      throw invalid(answer, to: request, "the answer is \(name) instead of \(root)")
    }
    return document
  }
}
