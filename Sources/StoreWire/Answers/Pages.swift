package import Core

/// A page of an upload's parts.
package struct PartsPage: Hashable, Sendable {
  /// The parts, in the store's order.
  package let parts: [UploadedPart]
  /// After which number the next page begins; nil on the last.
  package let nextMarker: Int?

  /// Creates the page behind `marker`; nil if more shall follow, but not behind it.
  ///
  /// `next` is where the store says that the next page begins.
  init?(_ parts: [UploadedPart], isTruncated: Bool, next: Int?, after marker: Int?) {
    self.parts = parts
    guard isTruncated else {
      nextMarker = nil
      return
    }
    guard let last = next ?? parts.last?.partNumber, last > marker ?? 0 else { return nil }
    nextMarker = last
  }
}

/// A page of the uploads that are neither complete nor given up.
package struct UploadsPage: Hashable, Sendable {
  /// The uploads, in the store's order.
  package var uploads: [UnfinishedUpload]
  /// Behind which the next page begins; nil on the last.
  package var nextMarker: UploadReference?

  /// Creates a page.
  package init(uploads: [UnfinishedUpload] = [], nextMarker: UploadReference? = nil) {
    self.uploads = uploads
    self.nextMarker = nextMarker
  }

  /// Adds an upload, unless it has no key or id to give it up by, or is none that was asked for:
  /// some stores ignore the prefix.
  mutating func add(_ key: ObjectKey, id: String?, initiated: Timestamp?, prefix: ObjectKey) {
    guard let id, (1...4096).contains(id.utf8.count), !key.bytes.isEmpty, key.hasPrefix(prefix)
    else { return }
    uploads.append(
      UnfinishedUpload(
        reference: UploadReference(key: key, uploadID: id),
        initiated: initiated ?? Timestamp(seconds: 0)
      )
    )
  }

  /// Notes where the next page begins; false if that isn't behind `marker`.
  mutating func goesOn(at next: UploadReference, after marker: UploadReference?) -> Bool {
    guard !next.key.bytes.isEmpty, next != marker, !(marker.map { next.key < $0.key } ?? false)
    else { return false }
    nextMarker = next
    return true
  }
}
