internal import Core
internal import Support

/// An upload under way: the parts that the store has of it, and the checkpoint that says so.
final class RecordedUpload: Sendable {
  /// Where the parts are.
  let reference: UploadReference
  private let checkpoint: Lock<UploadCheckpoint>
  private let file: CheckpointFile?
  private let log: Log
  private let isFailureLogged = Lock(false)

  /// Takes over an upload whose checkpoint has been written to `file`.
  init(_ checkpoint: UploadCheckpoint, _ file: CheckpointFile?, log: Log) {
    reference = checkpoint.upload.reference
    self.checkpoint = Lock(checkpoint)
    self.file = file
    self.log = log
  }

  /// The disk has its id: whoever finds the checkpoint can go on with it, or give it up.
  var isRecorded: Bool { file != nil }

  /// The parts that the store has.
  var parts: [UploadedPart] { checkpoint.withLock { Array($0.parts.values) } }

  /// Notes that the store has a part; may wait for the disk.
  ///
  /// That it can't be written costs a repetition after an interruption, and nothing now.
  func finished(_ part: UploadedPart) {
    checkpoint.withLock { $0.insert(part) }
    do throws(DiskFailure) {
      try file?.append(part.line)
    } catch {
      let isNews = isFailureLogged.withLock { isLogged in
        defer { isLogged = true }
        return !isLogged
      }
      guard isNews else { return }
      log.write(.warning, "a finished part could not be recorded: \(error)")
    }
  }
}
