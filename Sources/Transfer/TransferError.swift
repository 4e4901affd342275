package import Core

/// Why a download, a copy or an upload did not come to its end.
package enum TransferError: Error, Hashable, Sendable {
  /// The request makes no sense here; the sentence says why.
  case invalid(String)
  /// The store failed.
  case store(StoreError)
  /// Bytes could not be fetched or kept.
  case fetch(FetchError)
  /// The disk failed.
  case disk(DiskFailure)
  /// Another process works with this checkpoint.
  case held(path: String, by: String)
  /// The checkpoint is of another task: the first field that differs.
  case differs(field: String, checkpoint: String, request: String)
  /// The checkpoint is of another version of the format.
  case unknownFormat(path: String, version: String)
  /// The source is not the version that the task began with; nothing was mixed.
  case sourceChanged(was: ObjectVersion, isNow: ObjectVersion?)
  /// What is at the target's key is not what the request allows to replace.
  case targetChanged(StoreError)
  /// The whole object's checksum is not the store's.
  case wrongChecksum(expected: UInt64, actual: UInt64)
  /// The caller paused it; the checkpoint is kept.
  case paused
  /// The caller ended what can't be gone on with; nothing of it is kept.
  case stopped
}

extension TransferError {
  /// What an error of a step means; `path` is the checkpoint's.
  init(_ error: any Error, path: String) {
    switch error {
    case let error as TransferError: self = error
    case let failure as DiskFailure: self = .disk(failure)
    case LockFile.LockError.held(let holder): self = .held(path: path, by: holder)
    case LockFile.LockError.disk(let failure): self = .disk(failure)
    case LockFile.LockError.notPlain(let path, let reason),
      PartFile.OpenError.notPlain(let path, let reason):
      // EPERM.
      self = .disk(DiskFailure(errno: 1, action: "use \(path)", reason: reason))
    case PartFile.OpenError.disk(let failure): self = .disk(failure)
    case PartFile.OpenError.unknownFormat(let version):
      self = .unknownFormat(path: path, version: version)
    case PartFile.OpenError.damaged(let reason):
      self = .invalid("the checkpoint \(path) is damaged: \(reason)")
    case PartFile.OpenError.foreign(let identity):
      self = .sourceChanged(was: identity.version, isNow: nil)
    default: self = .invalid("\(error)")
    }
  }

  /// What a failure of the store means to a task that can be paused.
  init(_ error: StoreError) {
    self = error.kind == .cancelled ? .paused : .store(error)
  }

  /// The source was removed, so that nothing can come of what is there of it.
  var isSourceGone: Bool {
    guard case .store(let error) = self else { return false }
    return error.kind == .notFound
  }

  /// The first field in which a checkpoint's task and the one asked for differ; nil if there is none.
  ///
  /// - Parameter fields: each field's name as users know it, what the checkpoint says, and what the
  ///   request says.
  /// - Returns: the error that names the field.
  static func difference(
    in fields: [(name: String, checkpoint: String?, request: String?)]
  ) -> TransferError? {
    fields.first { $0.checkpoint != $0.request }.map { field in
      .differs(
        field: field.name,
        checkpoint: field.checkpoint ?? "none",
        request: field.request ?? "none"
      )
    }
  }
}
