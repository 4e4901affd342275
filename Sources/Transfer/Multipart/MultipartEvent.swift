package import Core

/// What happens during a copy or an upload.
package enum MultipartEvent: Hashable, Sendable {
  /// The source is known: its bytes (nil for a stream), how many parts it makes (0 if it goes in one
  /// request), and how many bytes an earlier try has brought over.
  case started(size: Int?, partCount: Int, presentByteCount: Int)
  /// An earlier try can't be continued, and why.
  case startedOver(reason: String)
  /// The store has begun an upload.
  case createdUpload(UploadReference)
  /// It has not.
  case creationFailed(StoreError)
  /// The store has a part.
  case partFinished(UploadedPart, ByteRange)
  /// A part could not be had, all retries included.
  case partFailed(partNumber: Int, ByteRange, TransferError)
  /// A part was given up because the task was paused or another part failed for good.
  case partAborted(partNumber: Int, ByteRange)
  /// The object is there.
  case completed(StoredObject)
  /// The parts could not be made the object.
  case completionFailed(StoreError)
}
