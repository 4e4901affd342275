internal import Core
internal import Transfer

extension FileError {
  /// What a failure of the local disk means to a program that writes.
  init(_ failure: DiskFailure, writing key: ObjectKey) {
    self.init(failure, of: "\"\(key)\" can't be written: \(failure)")
  }

  /// What it means to a program that a draft could not be published.
  ///
  /// - Parameters:
  ///   - error: why.
  ///   - key: the object to be.
  ///   - condition: what had to hold of what is at the key.
  init(_ error: TransferError, publishing key: ObjectKey, _ condition: WriteCondition) {
    let kept = "what was written is kept"
    switch error {
    case .targetChanged(let cause):
      self.init(
        condition == .ifAbsent ? .exists : .stale,
        condition == .ifAbsent
          ? "\"\(key)\" has been created by somebody else meanwhile; \(kept)"
          : "\"\(key)\" has been changed by somebody else meanwhile; \(kept)",
        cause: cause
      )
    case .sourceChanged:
      self.init(.stale, "\"\(key)\" has been changed by somebody else meanwhile; \(kept)")
    case .store(let cause):
      let mapped = FileError(cause, of: .name).uninterrupted
      // That the bucket or the upload is gone must not look like a name that isn't there.
      self.init(
        mapped.code == .notFound || mapped.code == .exists ? .inputOutput : mapped.code,
        "\"\(key)\" could not be stored: \(mapped.message); \(kept)",
        cause: cause
      )
    case .fetch(let cause):
      var mapped = FileError(cause, reading: key).uninterrupted
      mapped.message = "\"\(key)\" could not be stored: \(mapped.message); \(kept)"
      self = mapped
    case .disk(let failure):
      self.init(failure, of: "\"\(key)\" could not be stored: \(failure); \(kept)")
    case .wrongChecksum:
      self.init(.inputOutput, "\"\(key)\": the store has other bytes than were sent; \(kept)")
    case .paused, .stopped:
      self.init(.inputOutput, "\"\(key)\" was not stored: publishing was ended; \(kept)")
    case .invalid(let reason):
      self.init(.tooLarge, "\"\(key)\" can't be stored: \(reason); \(kept)")
    case .held, .differs, .unknownFormat:
      self.init(.inputOutput, "\"\(key)\" could not be stored: \(error); \(kept)")
    }
  }
}
