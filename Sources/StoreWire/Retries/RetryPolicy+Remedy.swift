internal import Core

extension RetryPolicy {
  /// What could help against a failure; the protocol knows by the store's codes.
  package enum Remedy: Hashable, Sendable {
    /// Nothing.
    case none
    /// Another try, as often as there is time.
    case wait
    /// Another try, so many times at most.
    case times(Int)
    /// The store's clock.
    case clock
    /// Fresh credentials.
    case refresh

    /// What helps against a failure of this kind where no code says otherwise.
    static func usual(for kind: StoreError.Kind) -> Remedy {
      switch kind {
      case .throttled, .serverFailure, .unreachable, .invalidAnswer: .wait
      case .notFound, .noSuchBucket, .noSuchUpload, .accessDenied, .badCredentials,
        .preconditionFailed, .alreadyExists, .archived, .rangeNotSatisfiable, .untrusted, .timedOut,
        .wrongRegion, .unsupported, .conflict, .tooLarge, .invalidRequest, .sinkRefused, .offline,
        .cancelled:
        .none
      }
    }
  }
}
