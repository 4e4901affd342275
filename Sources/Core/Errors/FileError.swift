/// Why bytes of an object could not be had: the store, this machine's disk, or time.
package enum FetchError: Error, Hashable, Sendable {
  /// The object is no longer the version that was asked for.
  case changed(StoreError?)
  /// The store failed in another way, after its retries.
  case store(StoreError)
  /// The local disk failed.
  case disk(DiskFailure)
  /// The deadline passed while the bytes were on their way.
  case deadline(String)
  /// The caller gave up.
  case cancelled
}

/// A failed system call on a local file.
package struct DiskFailure: Error, Hashable, Sendable, CustomStringConvertible {
  /// The errno.
  package let errno: Int32
  /// What was tried, with its path: "write /var/cache/.../data".
  package let action: String
  /// The errno in words.
  package let reason: String

  /// Creates a failure.
  package init(errno: Int32, action: String, reason: String) {
    self.errno = errno
    self.action = action
    self.reason = reason
  }

  package var description: String { "can't \(action): \(reason)" }
}

/// Why a file operation failed: a closed code that becomes an errno one to one, and the reason.
package struct FileError: Error, Hashable, Sendable {
  /// One case per errno that Dipper answers with.
  package enum Code: String, Hashable, Sendable, CaseIterable {
    case notFound
    case accessDenied
    case notPermitted
    case stale
    case exists
    case timedOut
    case inputOutput
    case noSpace
    case notSupported
    case notImplemented
    case readOnly
    case nameTooLong
    case isDirectory
    case notDirectory
    case notEmpty
    case interrupted
    case tooLarge
    case invalid
    case noAttribute
    case attributeTooLarge
    case badHandle
    case crossDevice
    case noMemory
    case hostUnreachable
  }

  /// What the application is told.
  package var code: Code
  /// One sentence for a person.
  package var message: String
  /// The store's part in it.
  package var cause: StoreError?

  /// Creates an error.
  package init(_ code: Code, _ message: String, cause: StoreError? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }
}
