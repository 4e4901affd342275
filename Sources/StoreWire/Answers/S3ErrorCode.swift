internal import Core

/// The error codes of the S3 protocol that mean something to us.
///
/// Codes of other stores that speak the protocol are among them. A code that isn't here leaves the
/// meaning to the status.
///
/// Source: Amazon S3 API Reference, "Error responses"; the rest observed from the servers that the
/// tests run against.
package enum S3ErrorCode: String, Hashable, Sendable, CaseIterable {
  case accessDenied = "AccessDenied"
  case accountProblem = "AccountProblem"
  case allAccessDisabled = "AllAccessDisabled"
  case authFailure = "AuthFailure"
  case authorizationHeaderMalformed = "AuthorizationHeaderMalformed"
  case badDigest = "BadDigest"
  case bandwidthLimitExceeded = "BandwidthLimitExceeded"
  case conditionalRequestConflict = "ConditionalRequestConflict"
  case contentHashMismatch = "XAmzContentSHA256Mismatch"
  case entityTooLarge = "EntityTooLarge"
  case expiredToken = "ExpiredToken"
  case expiredTokenException = "ExpiredTokenException"
  case incompleteBody = "IncompleteBody"
  case internalError = "InternalError"
  case invalidAccessKey = "InvalidAccessKeyId"
  case invalidObjectState = "InvalidObjectState"
  case invalidRange = "InvalidRange"
  case invalidSecurity = "InvalidSecurity"
  case invalidToken = "InvalidToken"
  case metadataTooLarge = "MetadataTooLarge"
  case methodNotAllowed = "MethodNotAllowed"
  case noSuchBucket = "NoSuchBucket"
  case noSuchKey = "NoSuchKey"
  case noSuchUpload = "NoSuchUpload"
  case noSuchVersion = "NoSuchVersion"
  case notFound = "NotFound"
  case notImplemented = "NotImplemented"
  case objectNotRestored = "ObjectNotRestored"
  case operationAborted = "OperationAborted"
  case permanentRedirect = "PermanentRedirect"
  case preconditionFailed = "PreconditionFailed"
  case redirect = "Redirect"
  case requestExpired = "RequestExpired"
  case requestLimitExceeded = "RequestLimitExceeded"
  case requestTimeTooSkewed = "RequestTimeTooSkewed"
  case requestTimeout = "RequestTimeout"
  case serviceUnavailable = "ServiceUnavailable"
  case signatureDoesNotMatch = "SignatureDoesNotMatch"
  case slowDown = "SlowDown"
  case slowDownRead = "SlowDownRead"
  case slowDownWrite = "SlowDownWrite"
  case temporaryRedirect = "TemporaryRedirect"
  case throttling = "Throttling"
  case throttlingException = "ThrottlingException"
  case tokenRefreshRequired = "TokenRefreshRequired"
  case tooManyRequests = "TooManyRequests"

  /// What the code means to the program.
  var kind: StoreError.Kind {
    switch self {
    case .noSuchKey, .noSuchVersion, .notFound: .notFound
    case .noSuchBucket: .noSuchBucket
    case .noSuchUpload: .noSuchUpload
    case .accessDenied, .accountProblem, .allAccessDisabled: .accessDenied
    case .authFailure, .expiredToken, .expiredTokenException, .invalidAccessKey, .invalidSecurity,
      .invalidToken, .requestExpired, .requestTimeTooSkewed, .signatureDoesNotMatch,
      .tokenRefreshRequired:
      .badCredentials
    case .authorizationHeaderMalformed, .permanentRedirect, .redirect, .temporaryRedirect:
      .wrongRegion
    case .invalidObjectState, .objectNotRestored: .archived
    case .preconditionFailed: .preconditionFailed
    case .conditionalRequestConflict, .operationAborted: .conflict
    case .invalidRange: .rangeNotSatisfiable
    case .bandwidthLimitExceeded, .requestLimitExceeded, .serviceUnavailable, .slowDown,
      .slowDownRead, .slowDownWrite, .throttling, .throttlingException, .tooManyRequests:
      .throttled
    // The body did not arrive whole: as much a fault of the network as a reset.
    case .incompleteBody, .requestTimeout: .unreachable
    case .internalError: .serverFailure
    case .methodNotAllowed, .notImplemented: .unsupported
    case .entityTooLarge, .metadataTooLarge: .tooLarge
    case .badDigest, .contentHashMismatch: .invalidRequest
    }
  }
}
