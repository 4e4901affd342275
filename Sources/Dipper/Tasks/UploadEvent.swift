internal import Core
internal import Transfer

/// What happens during an upload, or during a copy on the server, which is one of parts that the store
/// has already.
public enum UploadEvent: Hashable, Sendable {
  /// The source is known: its bytes (nil for a stream), the most parts that it makes (0 if it goes in one
  /// request), and how many bytes an earlier try has brought over.
  case started(size: Int?, partCount: Int, presentByteCount: Int)
  /// An earlier try can't be gone on with, and why.
  case startedOver(reason: String)
  /// The store has begun a multipart upload.
  case multipartUploadCreated(id: String)
  /// It has not.
  case multipartUploadFailed(DipperError)
  /// The store has a part.
  case partSucceeded(TransferPart)
  /// A part could not be sent or copied, all retries included.
  case partFailed(TransferPart, DipperError)
  /// A part was given up, because the transfer was paused or another part failed for good.
  case partAborted(TransferPart)
  /// The object is there.
  case completed(ObjectInfo)
  /// The parts could not be made the object.
  case completionFailed(DipperError)

  /// Every event is worth reading.
  static func replaces(_ earlier: UploadEvent, _ later: UploadEvent) -> Bool { false }

  init(_ event: MultipartEvent, of name: String) {
    switch event {
    case .started(let size, let partCount, let count):
      self = .started(size: size, partCount: partCount, presentByteCount: count)
    case .startedOver(let reason): self = .startedOver(reason: reason)
    case .createdUpload(let reference): self = .multipartUploadCreated(id: reference.uploadID)
    case .creationFailed(let error): self = .multipartUploadFailed(DipperError(error))
    case .partFinished(let part, let range):
      self = .partSucceeded(TransferPart(part.partNumber, range, etag: part.etag))
    case .partFailed(let number, let range, let error):
      self = .partFailed(TransferPart(number, range), DipperError(error, of: name))
    case .partAborted(let number, let range): self = .partAborted(TransferPart(number, range))
    case .completed(let stored): self = .completed(ObjectInfo(stored))
    case .completionFailed(let error): self = .completionFailed(DipperError(error))
    }
  }
}

/// What happens during a copy on the server.
public typealias CopyEvent = UploadEvent
