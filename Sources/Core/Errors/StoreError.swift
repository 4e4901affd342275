/// Why an operation on a store failed: a closed kind to decide by, and the words to report.
package struct StoreError: Error, Hashable, Sendable {
  /// What the failure means to the program; everything that decides looks only here.
  package enum Kind: String, Hashable, Sendable, CaseIterable {
    /// 404: no object at this key.
    case notFound
    /// 404: no such bucket.
    case noSuchBucket
    /// 404: no such multipart upload.
    case noSuchUpload
    /// 403: these credentials may not do this.
    case accessDenied
    /// 403/400: the credentials themselves are wrong, unknown or expired; or none were found.
    case badCredentials
    /// 412: the object is not the version that the condition named.
    case preconditionFailed
    /// A conditional create found something there.
    case alreadyExists
    /// The object is archived and must be restored first.
    case archived
    /// 416: the range lies outside the object.
    case rangeNotSatisfiable
    /// 429/503: the store asks for less; retried until the deadline.
    case throttled
    /// 5xx: the store failed; retried.
    case serverFailure
    /// No connection, a reset, a body cut short; retried.
    case unreachable
    /// The server's certificate is not trusted.
    case untrusted
    /// The deadline passed.
    case timedOut
    /// The answer breaks the protocol: wrong range, wrong length, garbage; retried as a transport fault.
    case invalidAnswer
    /// 301/307/400: the bucket lives elsewhere.
    case wrongRegion
    /// The store or bucket can't do this.
    case unsupported
    /// Something is in the way just now: a lock, a concurrent change.
    case conflict
    /// Larger than the store allows.
    case tooLarge
    /// Any other 4xx: the request itself is wrong.
    case invalidRequest
    /// The body's destination refused the bytes; `errno` says why.
    case sinkRefused
    /// The mount is offline: the store isn't asked at all.
    case offline
    /// The caller gave up.
    case cancelled
  }

  /// What the failure means.
  package var kind: Kind
  /// The operation in the store's own words, such as `GetObject`.
  package var operation: StoreOperation
  /// The key, if the operation had one.
  package var key: ObjectKey?
  /// The HTTP status, if there was an answer.
  package var status: Int?
  /// The store's error code, such as `NoSuchKey`.
  package var code: String?
  /// The store's finer code where it has one, such as TOS's EC `0026-00000022`.
  package var subcode: String?
  /// The store's request id, which its support asks for.
  package var requestID: String?
  /// One sentence for a person.
  package var message: String
  /// The destination's errno, for `sinkRefused`.
  package var errno: Int32?
  /// How long the store asked to wait before the next try.
  package var retryAfter: Duration?

  /// Creates an error.
  package init(
    _ kind: Kind,
    _ operation: StoreOperation,
    key: ObjectKey? = nil,
    status: Int? = nil,
    code: String? = nil,
    subcode: String? = nil,
    requestID: String? = nil,
    message: String,
    errno: Int32? = nil,
    retryAfter: Duration? = nil
  ) {
    self.kind = kind
    self.operation = operation
    self.key = key
    self.status = status
    self.code = code
    self.subcode = subcode
    self.requestID = requestID
    self.message = message
    self.errno = errno
    self.retryAfter = retryAfter
  }
}

extension StoreError: CustomStringConvertible {
  /// The whole story in one line: what, which key, why, the store's code and request id.
  package var description: String {
    var text = "\(operation)"
    if let key { text += " \"\(key)\"" }
    text += ": \(message)"
    var facts: [String] = []
    if let code { facts.append(code) }
    if let subcode { facts.append("EC \(subcode)") }
    if let status { facts.append("HTTP \(status)") }
    if let requestID { facts.append("request id \(requestID)") }
    if !facts.isEmpty { text += " (\(facts.joined(separator: ", ")))" }
    return text
  }
}

/// The operations of a store, in S3's words; they name counters and errors.
package enum StoreOperation: String, Hashable, Sendable, CaseIterable, CustomStringConvertible {
  case getObject = "GetObject"
  case headObject = "HeadObject"
  case listObjects = "ListObjects"
  case headBucket = "HeadBucket"
  case getBucketLocation = "GetBucketLocation"
  case putObject = "PutObject"
  case deleteObject = "DeleteObject"
  case deleteObjects = "DeleteObjects"
  case copyObject = "CopyObject"
  case renameObject = "RenameObject"
  case createMultipartUpload = "CreateMultipartUpload"
  case uploadPart = "UploadPart"
  case uploadPartCopy = "UploadPartCopy"
  case completeMultipartUpload = "CompleteMultipartUpload"
  case abortMultipartUpload = "AbortMultipartUpload"
  case listParts = "ListParts"
  case listMultipartUploads = "ListMultipartUploads"
  case getObjectTagging = "GetObjectTagging"
  case setObjectMeta = "SetObjectMeta"
  case setObjectTime = "SetObjectTime"
  case getFileStatus = "GetFileStatus"
  case restoreObject = "RestoreObject"
  case putSymlink = "PutSymlink"
  case getSymlink = "GetSymlink"

  package var description: String { rawValue }
}
