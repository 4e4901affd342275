internal import Core

/// The error codes of TOS that mean something to us.
///
/// A code that isn't here leaves the meaning to the status.
///
/// Source: TOS API reference, "Error codes"; the vendor's SDKs, which name the rest.
enum TOSErrorCode: String, Hashable, Sendable, CaseIterable {
  case accessDenied = "AccessDenied"
  case authorizationHeaderMalformed = "AuthorizationHeaderMalformed"
  case badDigest = "BadDigest"
  case bucketRateLimit = "ExceedBucketRateLimit"
  case cannotDelete = "CannotDelete"
  case clusterQueries = "ExceedClusterQPSLimit"
  case clusterRateLimit = "ExceedClusterRateLimit"
  case concurrentUpdates = "ConcurrencyUpdateObjectLimit"
  case contentHashMismatch = "ContentSHA256Mismatch"
  case duplicateObject = "DuplicateObject"
  case entityTooLarge = "EntityTooLarge"
  case exceedAccountQueries = "ExceedAccountQPSLimit"
  case exceedAccountRate = "ExceedAccountRateLimit"
  case exceedBucketQueries = "ExceedBucketQPSLimit"
  case exceedQueries = "ExceedQPSLimit"
  case exceedRate = "ExceedRateLimit"
  case expiredToken = "ExpiredToken"
  case internalError = "InternalError"
  case invalidAccessKey = "InvalidAccessKeyId"
  case invalidDigest = "InvalidDigest"
  case invalidObjectState = "InvalidObjectState"
  case invalidPathAccess = "InvalidPathAccess"
  case invalidRange = "InvalidRange"
  case invalidSecurityToken = "InvalidSecurityToken"
  case methodNotAllowed = "MethodNotAllowed"
  case mirrorFailed = "MirrorFailed"
  case noSuchBucket = "NoSuchBucket"
  case noSuchKey = "NoSuchKey"
  case noSuchTagSet = "NoSuchTagSet"
  case noSuchUpload = "NoSuchUpload"
  case noSuchVersion = "NoSuchVersion"
  case notModified = "NotModified"
  case objectNotRestored = "ObjectNotRestored"
  case operationAborted = "OperationAborted"
  case permanentRedirect = "PermanentRedirect"
  case preconditionFailed = "PreconditionFailed"
  case rangeNotSatisfiable = "Requested Range Not Satisfiable"
  case requestTimeTooSkewed = "RequestTimeTooSkewed"
  case requestTimeout = "RequestTimeout"
  case restoreInProgress = "RestoreAlreadyInProgress"
  case serviceUnavailable = "ServiceUnavailable"
  case signatureDoesNotMatch = "SignatureDoesNotMatch"
  case slowDown = "SlowDown"
  case sourceAccessDenied = "SourceObjectAccessDenied"
  case sourceNotFound = "SourceObjectNotFound"
  case temporaryRedirect = "TemporaryRedirect"
  case timeout = "Timeout"
  case tooManyRequests = "TooManyRequests"
  case tryAgain = "TryAgain"

  /// What the code means to the program.
  var kind: StoreError.Kind {
    switch self {
    case .noSuchKey, .noSuchVersion, .noSuchTagSet, .sourceNotFound: .notFound
    case .noSuchBucket: .noSuchBucket
    case .noSuchUpload: .noSuchUpload
    case .accessDenied, .invalidPathAccess, .sourceAccessDenied: .accessDenied
    case .authorizationHeaderMalformed, .expiredToken, .invalidAccessKey, .invalidSecurityToken,
      .requestTimeTooSkewed, .signatureDoesNotMatch:
      .badCredentials
    case .permanentRedirect, .temporaryRedirect: .wrongRegion
    case .invalidObjectState, .objectNotRestored: .archived
    case .notModified, .preconditionFailed: .preconditionFailed
    case .duplicateObject: .alreadyExists
    case .cannotDelete, .concurrentUpdates, .operationAborted, .restoreInProgress, .tryAgain:
      .conflict
    case .invalidRange, .rangeNotSatisfiable: .rangeNotSatisfiable
    case .bucketRateLimit, .clusterQueries, .clusterRateLimit, .exceedAccountQueries,
      .exceedAccountRate, .exceedBucketQueries, .exceedQueries, .exceedRate, .serviceUnavailable,
      .slowDown, .tooManyRequests:
      .throttled
    // The body did not arrive whole: as much a fault of the network as a reset.
    case .requestTimeout, .timeout: .unreachable
    case .internalError, .mirrorFailed: .serverFailure
    case .methodNotAllowed: .unsupported
    case .entityTooLarge: .tooLarge
    case .badDigest, .contentHashMismatch, .invalidDigest: .invalidRequest
    }
  }

  /// What could help.
  var remedy: RetryPolicy.Remedy {
    switch self {
    case .requestTimeTooSkewed: .clock
    case .expiredToken, .invalidSecurityToken: .refresh
    // The body was damaged on its way; twice in a row it is something else.
    case .badDigest, .contentHashMismatch, .invalidDigest: .times(1)
    case .concurrentUpdates, .operationAborted, .tryAgain: .times(TOSDetailCode.lockTryCountMax)
    default: .usual(for: kind)
    }
  }
}

/// TOS's finer code, `EC`: `00NN-NNNNNNNN`, of which the first group names a family.
///
/// Also an answer without a body, such as that to HEAD, has it.
///
/// Source: TOS API reference, "Error codes"; the single values from the vendor's SDKs and from the
/// Hadoop connector for TOS.
enum TOSDetailCode: String, Hashable, Sendable, CaseIterable {
  case transientBody = "0005-00000044"
  case noBucket = "0006-00000001"
  case noObject = "0017-00000003"
  case objectExists = "0017-00000004"
  case directoryNotEmpty = "0026-00000013"
  case belowFile = "0026-00000020"
  case copyBetweenKinds = "0026-00000021"
  case pathLocked = "0026-00000022"
  case renameTargetExists = "0026-00000025"
  case renameIntoItself = "0026-00000026"
  case renameBetweenKinds = "0026-00000027"

  /// 8: about 25 s of waits; locks are held while a directory is renamed or removed, which takes
  /// seconds, and no client is known to wait longer.
  static let lockTryCountMax = 8

  /// What the code means to the program.
  var kind: StoreError.Kind {
    switch self {
    // The store read the body badly, says that it was the request, and takes it the next time.
    case .transientBody: .unreachable
    case .noBucket: .noSuchBucket
    case .noObject, .belowFile: .notFound
    case .objectExists, .renameTargetExists: .alreadyExists
    case .directoryNotEmpty, .pathLocked: .conflict
    case .copyBetweenKinds, .renameIntoItself, .renameBetweenKinds: .invalidRequest
    }
  }

  /// What the family of a code means where nothing else says more; nil if nothing.
  static func familyKind(of code: String) -> StoreError.Kind? {
    switch code.prefix(5) {
    case "0002-": .badCredentials
    case "0003-": .accessDenied
    case "0004-": .throttled
    default: nil
    }
  }
}
