internal import Core

extension WireAnswers {
  /// What a status means by itself.
  static func kind(
    status: Int,
    hasError: Bool,
    request: WireRequest
  ) -> StoreError.Kind {
    switch status {
    case 304: .preconditionFailed
    case 401: .badCredentials
    case 403: .accessDenied
    case 404: missing(request)
    case 405, 501: .unsupported
    case 408: .unreachable
    case 409: .conflict
    case 412: .preconditionFailed
    case 413: .tooLarge
    case 416: .rangeNotSatisfiable
    case 429, 503: .throttled
    case 400..<500: .invalidRequest
    // An error in a 200 without a code that we know: the store failed after it had begun to answer.
    case 200..<300 where hasError: .serverFailure
    case 500...: .serverFailure
    default: .invalidAnswer
    }
  }

  /// What is missing where a 404 doesn't say.
  static func missing(_ request: WireRequest) -> StoreError.Kind {
    switch request.operation {
    case .headBucket, .getBucketLocation, .listObjects, .listMultipartUploads, .deleteObjects,
      .putObject, .putSymlink, .createMultipartUpload:
      .noSuchBucket
    case .uploadPart, .completeMultipartUpload, .abortMultipartUpload, .listParts: .noSuchUpload
    case .getObject, .headObject, .deleteObject, .copyObject, .renameObject, .uploadPartCopy,
      .getObjectTagging, .setObjectMeta, .setObjectTime, .getFileStatus, .restoreObject,
      .getSymlink:
      .notFound
    }
  }

  /// What a refused listing means where directories don't exist by themselves.
  ///
  /// A listing names no object that could be missing, so such an answer is none, and what it was asked
  /// for must not be taken for absent or empty.
  static func refusedListing(_ error: StoreError) -> StoreError {
    guard error.kind == .notFound else { return error }
    var error = error
    error.kind = .invalidAnswer
    error.message = "a listing was answered as if it named an object: \(error.message)"
    return error
  }

  static func sentence(for kind: StoreError.Kind, _ answer: WireAnswer) -> String {
    switch kind {
    case .notFound: "there is no such object"
    case .noSuchBucket: "there is no such bucket"
    case .noSuchUpload: "there is no such multipart upload"
    case .accessDenied: "the store denies access"
    case .badCredentials: "the store doesn't accept the credentials"
    case .preconditionFailed where answer.status == 304:
      "the object has not changed from what the condition excludes"
    case .preconditionFailed: "the object is not the expected version"
    case .alreadyExists: "the object exists already"
    case .archived: "the object is archived and must be restored first"
    case .rangeNotSatisfiable: "the range lies outside the object"
    case .throttled: "the store asks for fewer requests"
    case .serverFailure: "the store failed"
    case .wrongRegion: "the bucket is in another region"
    case .unsupported: "the store can't do this"
    case .conflict: "another change is under way"
    case .tooLarge: "it is larger than the store allows"
    case .invalidRequest where answer.status == 400 && answer.body.isEmpty:
      "the store refuses the request without a reason; expired credentials are a common one"
    case .invalidRequest: "the store refuses the request"
    case .unreachable: "the request didn't reach the store whole"
    case .invalidAnswer, .untrusted, .timedOut, .sinkRefused, .offline, .cancelled:
      "the answer is not in the store's protocol"
    }
  }
}

extension StoreError.Kind {
  /// Returns true if a code of this meaning may decide what an answer of this status means.
  ///
  /// A gateway that failed (5xx) can't know that there is no such key, whatever its body says.
  func fits(_ status: Int) -> Bool {
    guard status >= 500 else { return true }
    switch self {
    case .throttled, .serverFailure, .unsupported, .unreachable, .conflict: return true
    default: return false
    }
  }
}

extension String {
  /// The text for a message, at most `countMax` characters of one line; nil if nothing is left.
  func shown(_ countMax: Int) -> String? {
    let text = String(prefix(countMax)).utf8.printable
    return text.isEmpty ? nil : text
  }

  /// The text as a part of a sentence that goes on: as `shown`, without the full stop at its end.
  func clause(_ countMax: Int) -> String? {
    guard var text = shown(countMax) else { return nil }
    while let last = text.last, last == "." || last.isWhitespace { text.removeLast() }
    return text.isEmpty ? nil : text
  }
}
