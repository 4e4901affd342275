package import Core

extension FileError {
  /// What a failed fetch of an open file's bytes means to the application.
  package init(_ error: FetchError, reading key: ObjectKey) {
    switch error {
    case .changed(let cause):
      self.init(.stale, "\"\(key)\" was changed since it was opened", cause: cause)
    case .store(let cause):
      self.init(cause, of: .openFile)
    case .disk(let failure):
      self.init(failure, reading: key)
    case .deadline(let words):
      self.init(.timedOut, "\"\(key)\": \(words)")
    case .cancelled:
      self.init(.interrupted, "the read of \"\(key)\" was given up")
    }
  }

  /// What a failure of the cache's disk means to the application.
  package init(_ failure: DiskFailure, reading key: ObjectKey) {
    self.init(failure, of: "\"\(key)\" can't be read through the cache: \(failure)")
  }

  /// A failure of the local disk in these words.
  init(_ failure: DiskFailure, of message: String) {
    self.init(Self.code(ofErrno: failure.errno), message)
  }

  /// What an operation was about.
  package enum Subject: Sendable {
    /// A file that is open, or that the kernel holds: that it is gone is news.
    case openFile
    /// A name or a directory.
    case name
  }

  /// What a store's failure means to the application.
  package init(_ error: StoreError, of subject: Subject) {
    self.init(Self.code(of: error, subject), Self.message(of: error), cause: error)
  }

  /// The same failure for a caller that was not interrupted: `EINTR` would be a signal that never
  /// came, and programs such as `cp` would try again for ever.
  package var uninterrupted: FileError {
    var error = self
    if error.code == .interrupted { error.code = .inputOutput }
    return error
  }

  private static func code(of error: StoreError, _ subject: Subject) -> Code {
    switch error.kind {
    case .notFound:
      switch subject {
      case .openFile: .stale
      case .name: .notFound
      }
    case .preconditionFailed, .rangeNotSatisfiable: .stale
    case .accessDenied, .badCredentials: .accessDenied
    case .alreadyExists: .exists
    case .throttled, .unreachable, .timedOut: .timedOut
    // Not ENOENT: a program must not take a lost bucket for an empty one.
    case .noSuchBucket, .noSuchUpload, .archived, .untrusted, .invalidAnswer, .wrongRegion,
      .conflict, .invalidRequest, .serverFailure:
      .inputOutput
    case .unsupported: .notSupported
    case .tooLarge: .tooLarge
    case .sinkRefused: error.errno.map { code(ofErrno: $0) } ?? .inputOutput
    case .offline: .hostUnreachable
    case .cancelled: .interrupted
    }
  }

  private static func message(of error: StoreError) -> String {
    switch error.kind {
    case .archived:
      "\(error); the object is archived: restore it at the store, then read it again"
    case .badCredentials:
      "\(error); the credentials are missing, wrong or expired"
    case .untrusted:
      "\(error); the server's certificate is not trusted"
    case .notFound, .preconditionFailed, .rangeNotSatisfiable, .accessDenied, .alreadyExists,
      .throttled, .serverFailure, .unreachable, .timedOut, .noSuchBucket, .noSuchUpload,
      .invalidAnswer, .wrongRegion, .conflict, .invalidRequest, .unsupported, .tooLarge,
      .sinkRefused, .offline, .cancelled:
      "\(error)"
    }
  }

  /// What the errno of a local file means to the application.
  private static func code(ofErrno errno: Int32) -> Code {
    switch errno {
    case 28, 122: .noSpace  // ENOSPC, EDQUOT
    case 12: .noMemory  // ENOMEM
    default: .inputOutput
    }
  }
}
