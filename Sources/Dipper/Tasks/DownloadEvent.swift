internal import Core
internal import Transfer

/// What happens during a download into a file.
public enum DownloadEvent: Hashable, Sendable {
  /// The object is known: its bytes, the parts that it is fetched in, and how much of it an earlier try has
  /// brought.
  case started(size: Int, partCount: Int, presentByteCount: Int)
  /// An earlier try can't be gone on with, and why.
  case startedOver(reason: String)
  /// The file that gathers the bytes is there.
  case temporaryFileCreated(path: String)
  /// It could not be made.
  case temporaryFileFailed(path: String, DipperError)
  /// A part is there.
  case partSucceeded(TransferPart)
  /// A part could not be had, all retries included.
  case partFailed(TransferPart, DipperError)
  /// A part was given up, because the transfer was paused or another part failed.
  case partAborted(TransferPart)
  /// So many of `size` bytes are there; both are 0 for an empty object.
  case progressed(byteCount: Int, size: Int)
  /// Every byte was verified, and the file has taken the target's place.
  case renamed(path: String, ObjectInfo)
  /// The file could not take the target's place.
  case renameFailed(path: String, DipperError)

  /// Only the latest of two reports of progress is worth reading.
  static func replaces(_ earlier: DownloadEvent, _ later: DownloadEvent) -> Bool {
    if case .progressed = earlier, case .progressed = later { true } else { false }
  }

  init(_ event: FileDownloadEvent, of name: String) {
    switch event {
    case .started(let version, let partCount, let count):
      self = .started(size: version.size, partCount: partCount, presentByteCount: count)
    case .startedOver(let reason): self = .startedOver(reason: reason)
    case .createdTemporary(let path): self = .temporaryFileCreated(path: path)
    case .temporaryFailed(let path, let error):
      self = .temporaryFileFailed(path: path, DipperError(error, of: name))
    case .partFinished(let number, let range): self = .partSucceeded(TransferPart(number, range))
    case .partFailed(let number, let range, let error):
      self = .partFailed(TransferPart(number, range), DipperError(error))
    case .partAborted(let number, let range): self = .partAborted(TransferPart(number, range))
    case .progressed(let count, let size): self = .progressed(byteCount: count, size: size)
    case .finished(let path, let stored): self = .renamed(path: path, ObjectInfo(stored))
    case .renameFailed(let path, let error):
      self = .renameFailed(path: path, DipperError(error, of: name))
    }
  }
}
