package import Core

/// A page of the uploads that are neither complete nor given up.
package struct UploadsPage: Hashable, Sendable {
  /// The uploads, in the store's order.
  package var uploads: [UnfinishedUpload]
  /// Behind which the next page begins; nil on the last.
  package var nextMarker: UploadReference?

  /// Creates a page.
  package init(uploads: [UnfinishedUpload], nextMarker: UploadReference? = nil) {
    self.uploads = uploads
    self.nextMarker = nextMarker
  }
}

extension S3Answers {
  /// Reads one page of ListMultipartUploads.
  ///
  /// An upload without a key or an id can't be given up and is left out; one of a key that wasn't
  /// asked for too, because some stores ignore the prefix.
  ///
  /// - Throws: `.invalidAnswer` also if the pages don't advance.
  package static func uploads(
    _ answer: WireAnswer,
    to request: WireRequest,
    prefix: ObjectKey,
    after marker: UploadReference?
  ) throws(StoreError) -> UploadsPage {
    let document = try self.document(answer, to: request, root: "ListMultipartUploadsResult")
    let isEncoded = document.fields.text("EncodingType")?.lowercased() == "url"
    func key(_ text: [UInt8]) -> ObjectKey {
      ObjectKey(isEncoded ? PercentEncoding.decodeForm(text) ?? text : text)
    }
    var page = UploadsPage(uploads: [])
    for (name, record) in document.records where name == "Upload" {
      guard let text = record["Key"], let id = record.text("UploadId"),
        (1...4096).contains(id.utf8.count)
      else { continue }
      let reference = UploadReference(key: key(text), uploadID: id)
      guard !reference.key.bytes.isEmpty, reference.key.hasPrefix(prefix) else { continue }
      let initiated = record["Initiated"].flatMap(WireDate.iso8601) ?? Timestamp(seconds: 0)
      page.uploads.append(UnfinishedUpload(reference: reference, initiated: initiated))
    }
    guard document.fields.text("IsTruncated") == "true" else { return page }
    let next = UploadReference(
      key: key(document.fields["NextKeyMarker"] ?? []),
      uploadID: document.fields.text("NextUploadIdMarker") ?? ""
    )
    guard !next.key.bytes.isEmpty, next != marker, !(marker.map { next.key < $0.key } ?? false)
    else {
      throw invalid(answer, to: request, "the pages of the uploads don't advance")
    }
    page.nextMarker = next
    return page
  }
}
