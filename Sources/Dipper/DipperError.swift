package import Core

/// Why something could not be done: a kind to decide by, and one sentence for a person.
public struct DipperError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What the failure means.
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// The address, an option or the configuration can't be used.
    case invalid
    /// There is no such object, or no such bucket.
    case notFound
    /// The store refuses these credentials, or there are none.
    case denied
    /// The object is not the version that was asked for or begun with.
    case changed
    /// What is at the target's key is not what may be replaced.
    case conflict
    /// Another process works on the same task.
    case held
    /// It was paused; the same call again goes on with it.
    case paused
    /// It was given up, and what it left was cleared.
    case aborted
    /// The caller ended it, and nothing of it is kept.
    case cancelled
    /// The store can't be reached, or doesn't answer in time.
    case unreachable
    /// A local file or directory can't be used.
    case disk
    /// It is not built yet.
    case unsupported
    /// Anything else.
    case failed
  }

  /// What the failure means.
  public let kind: Kind
  /// What happened, with the store's code and request id where there are any.
  public let description: String

  /// Creates an error.
  public init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }

  /// Creates the error that a failure of a store is to the caller.
  package init(_ error: StoreError) {
    let kind: Kind =
      switch error.kind {
      case .notFound, .noSuchBucket, .noSuchUpload: .notFound
      case .accessDenied, .badCredentials, .untrusted: .denied
      case .preconditionFailed: .changed
      case .unreachable, .timedOut, .throttled, .serverFailure, .invalidAnswer, .offline:
        .unreachable
      case .cancelled: .cancelled
      case .invalidRequest, .wrongRegion: .invalid
      case .sinkRefused: .disk
      case .unsupported: .unsupported
      case .alreadyExists, .archived, .rangeNotSatisfiable, .conflict, .tooLarge: .failed
      }
    self.init(kind, error.description)
  }

  /// Creates the error that a failure of the disk is to the caller.
  package init(_ failure: DiskFailure) {
    self.init(.disk, failure.description)
  }
}
