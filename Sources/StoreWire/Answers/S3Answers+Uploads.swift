package import Core

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
    var page = UploadsPage()
    for (name, record) in document.records where name == "Upload" {
      page.add(
        key(record["Key"] ?? []),
        id: record.text("UploadId"),
        initiated: record["Initiated"].flatMap(WireDate.iso8601),
        prefix: prefix
      )
    }
    guard document.fields.text("IsTruncated") == "true" else { return page }
    let next = UploadReference(
      key: key(document.fields["NextKeyMarker"] ?? []),
      uploadID: document.fields.text("NextUploadIdMarker") ?? ""
    )
    guard page.goesOn(at: next, after: marker) else {
      throw invalid(answer, to: request, "the pages of the uploads don't advance")
    }
    return page
  }
}
