import Core
import StoreWire
import Testing

@Suite struct TOSErrorsTests {
  private let dialect = TOSDialect(bucket: "b")
  private let key = ObjectKey("k")

  private func error(
    _ status: Int,
    _ body: String = "",
    _ fields: KeyValuePairs<String, String> = [:],
    to request: WireRequest? = nil
  ) throws -> StoreError {
    dialect.error(
      WireAnswer(status: status, fields: HeaderFields(fields), body: Array(body.utf8)),
      to: try request ?? get()
    )
  }

  private func get() throws -> WireRequest {
    try TOSRequests.getObject(GetRequest(key: key, range: ByteRange(0, 1), ifMatch: nil))
  }

  private func document(_ code: String, _ detail: String? = nil) -> String {
    "{\"Code\":\"\(code)\",\"RequestId\":\"R\",\"HostId\":\"H\",\"Message\":\"m\""
      + (detail.map { ",\"EC\":\"\($0)\"" } ?? "") + "}"
  }

  @Test func theWholeStoryIsInTheMessage() throws {
    let error = try error(
      403,
      document("AccessDenied", "0003-00000001"),
      ["x-tos-request-id": "other", "Retry-After": "7"]
    )
    #expect(error.kind == .accessDenied)
    #expect(error.code == "AccessDenied")
    #expect(error.subcode == "0003-00000001")
    #expect(error.requestID == "R")
    #expect(error.retryAfter == .seconds(7))
    #expect(
      error.description
        == "GetObject \"k\": m (AccessDenied, EC 0003-00000001, HTTP 403, request id R)"
    )
  }

  @Test(
    arguments: [
      (404, "NoSuchKey", .notFound), (404, "NoSuchBucket", .noSuchBucket),
      (404, "NoSuchUpload", .noSuchUpload), (404, "SourceObjectNotFound", .notFound),
      (403, "AccessDenied", .accessDenied), (403, "InvalidPathAccess", .accessDenied),
      (403, "SignatureDoesNotMatch", .badCredentials), (403, "InvalidAccessKeyId", .badCredentials),
      (403, "ExpiredToken", .badCredentials), (403, "RequestTimeTooSkewed", .badCredentials),
      (403, "InvalidObjectState", .archived), (403, "ObjectNotRestored", .archived),
      (405, "MethodNotAllowed", .unsupported), (408, "RequestTimeout", .unreachable),
      (409, "CannotDelete", .conflict), (409, "OffsetNotMatched", .conflict),
      (412, "PreconditionFailed", .preconditionFailed),
      (416, "Requested Range Not Satisfiable", .rangeNotSatisfiable),
      (429, "ExceedAccountQPSLimit", .throttled), (429, "ExceedBucketRateLimit", .throttled),
      (429, "TooManyRequests", .throttled), (429, "Unheard", .throttled),
      (500, "InternalError", .serverFailure), (503, "ServiceUnavailable", .throttled),
      (503, "SlowDown", .throttled), (400, "InvalidArgument", .invalidRequest),
      (400, "EntityTooLarge", .tooLarge), (400, "BadDigest", .invalidRequest),
      (418, "Unheard", .invalidRequest), (502, "NoSuchKey", .serverFailure),
      (500, "AccessDenied", .serverFailure),
    ] as [(Int, String, StoreError.Kind)]
  )
  func aCodeHasItsKind(_ status: Int, _ code: String, _ kind: StoreError.Kind) throws {
    #expect(try error(status, document(code)).kind == kind)
  }

  @Test(
    arguments: [
      (400, "InvalidArgument", "0005-00000044", .unreachable),
      (409, "Conflict", "0026-00000022", .conflict),
      (409, "X", "0026-00000020", .notFound), (409, "X", "0026-00000013", .conflict),
      (409, "X", "0026-00000021", .invalidRequest), (409, "X", "0026-00000026", .invalidRequest),
      (409, "X", "0026-00000027", .invalidRequest), (404, "X", "0006-00000001", .noSuchBucket),
      // The code has more to say than the family.
      (403, "AccessDenied", "0002-00000201", .accessDenied),
    ] as [(Int, String, String, StoreError.Kind)]
  )
  func aFinerCodeDecidesFirst(
    _ status: Int,
    _ code: String,
    _ detail: String,
    _ kind: StoreError.Kind
  ) throws {
    #expect(try error(status, document(code, detail)).kind == kind)
  }

  @Test(
    arguments: [
      (404, "0006-00000001", .noSuchBucket), (404, "0017-00000003", .notFound),
      (403, "0002-00000201", .badCredentials), (403, "0003-00000001", .accessDenied),
      (503, "0004-00000001", .throttled), (409, "0026-00000020", .notFound),
      (404, nil, .notFound), (403, nil, .accessDenied), (403, "garbage", .accessDenied),
      (304, nil, .preconditionFailed), (412, nil, .preconditionFailed),
    ] as [(Int, String?, StoreError.Kind)]
  )
  func anAnswerWithoutABodyIsReadByItsFields(
    _ status: Int,
    _ detail: String?,
    _ kind: StoreError.Kind
  ) throws {
    var answer = WireAnswer(status: status)
    answer.fields["x-tos-ec"] = detail
    answer.fields["x-tos-request-id"] = "R"
    let error = dialect.error(answer, to: try TOSRequests.headObject(key))
    #expect(error.kind == kind)
    #expect(error.subcode == detail)
    #expect(error.requestID == "R")
    #expect(error.code == nil)
    #expect(!error.message.isEmpty)
  }

  @Test(arguments: [
    "", "<html><body><h1>Bad gateway</h1></body></html>", "\u{0}garbage", "{", "[]", "{\"Code\":5}",
    "{\"Code\":null}", "{\"Code\":\"\"}", "<Error>",
  ])
  func garbageLeavesTheMeaningToTheStatus(_ body: String) throws {
    for (status, kind) in [
      (404, .notFound), (429, .throttled), (502, .serverFailure), (403, .accessDenied),
    ] as [(Int, StoreError.Kind)] {
      let error = try error(status, body)
      #expect(error.kind == kind)
      #expect(!error.message.isEmpty && !error.message.contains("<"))
    }
  }

  @Test func anEndpointThatSpeaksS3IsUnderstood() throws {
    let error = try error(
      403,
      "<?xml version=\"1.0\"?><Error><Code>SignatureDoesNotMatch</Code><Message>no</Message></Error>"
    )
    #expect(error.kind == .badCredentials)
    #expect(error.message == "no")
  }

  @Test func whatIsThereAlreadyIsToldFromWhatIsInTheWay() throws {
    let create = try TOSRequests.putObject(PutRequest(key: key, condition: .ifAbsent))
    let plain = try TOSRequests.putObject(PutRequest(key: key))
    let replace = try TOSRequests.putObject(PutRequest(key: key, condition: .ifMatch(ETag("e"))))
    let duplicate = document("DuplicateObject", "0017-00000004")
    for status in [409, 412] {
      #expect(try error(status, duplicate, to: create).kind == .alreadyExists)
    }
    #expect(try error(412, "", to: create).kind == .alreadyExists)
    // A file has the name of the directory.
    #expect(try error(409, duplicate, to: plain).kind == .conflict)
    #expect(try error(412, "", to: replace).kind == .preconditionFailed)
    #expect(try error(404, document("NoSuchKey"), to: replace).kind == .preconditionFailed)
    let rename = try TOSRequests.renameObject(
      RenameRequest(source: key, target: ObjectKey("t")),
      makesDirectories: true
    )
    #expect(try error(409, document("X", "0026-00000025"), to: rename).kind == .alreadyExists)
  }

  @Test func aCopyTellsWhoseConditionFailed() throws {
    let copy = try TOSRequests.copyObject(
      CopyRequest(
        source: CopySource(key: key, ifMatch: ETag("e")),
        target: PutRequest(key: ObjectKey("t"), condition: .ifAbsent)
      ),
      bucket: "b"
    )
    #expect(try error(412, document("PreconditionFailed"), to: copy).kind == .preconditionFailed)
    #expect(try error(409, document("DuplicateObject"), to: copy).kind == .alreadyExists)
    #expect(try error(412, "", to: copy).kind == .preconditionFailed)
  }

  @Test(
    arguments: [
      (.throttled, nil, nil, .wait), (.serverFailure, nil, nil, .wait),
      (.unreachable, nil, "0005-00000044", .wait), (.invalidAnswer, nil, nil, .wait),
      (.conflict, nil, "0026-00000022", .times(8)),
      (.conflict, "ConcurrencyUpdateObjectLimit", nil, .times(8)),
      (.conflict, "CannotDelete", "0026-00000013", .none), (.conflict, nil, nil, .none),
      (.badCredentials, "RequestTimeTooSkewed", nil, .clock),
      (.badCredentials, "ExpiredToken", nil, .refresh),
      (.badCredentials, "SignatureDoesNotMatch", nil, .none),
      (.invalidRequest, "BadDigest", nil, .times(1)),
      (.invalidRequest, "InvalidArgument", nil, .none), (.notFound, "NoSuchKey", nil, .none),
      (.accessDenied, "AccessDenied", nil, .none),
    ] as [(StoreError.Kind, String?, String?, RetryPolicy.Remedy)]
  )
  func aFailureHasItsRemedy(
    _ kind: StoreError.Kind,
    _ code: String?,
    _ detail: String?,
    _ remedy: RetryPolicy.Remedy
  ) {
    let failure = StoreError(kind, .putObject, code: code, subcode: detail, message: "")
    #expect(dialect.remedy(for: failure) == remedy)
  }

  @Test func aBoundedRemedyEnds() {
    let failure = StoreError(.conflict, .putObject, subcode: "0026-00000022", message: "")
    func decision(_ retryCount: Int) -> RetryPolicy.Decision {
      RetryPolicy().decide(
        RetryPolicy.Attempt(
          failure: failure,
          remedy: dialect.remedy(for: failure),
          isIdempotent: true,
          retryCount: retryCount,
          retryCountMax: nil,
          timeLeft: .seconds(600),
          random: 0
        )
      )
    }
    #expect(decision(7) == .retry(after: .zero))
    #expect(decision(8) == .giveUp)
  }

  @Test(
    arguments: [
      (301, "https://b.tos-cn-shanghai.volces.com/k", "cn-shanghai"),
      (307, "b.tos-ap-southeast-1.bytepluses.com", "ap-southeast-1"),
      (307, "https://evil.example/tos-cn-shanghai.volces.com", nil),
      (307, "https://tos-cn-shanghai.evil.example", nil), (302, "https://tos-cn-a.volces.com", nil),
    ] as [(Int, String, String?)]
  )
  func aRedirectIsFollowedToARegionOnly(
    _ status: Int,
    _ location: String,
    _ region: String?
  ) throws {
    let answer = WireAnswer(status: status, fields: HeaderFields(["Location": location]))
    #expect(dialect.regionHint(answer) == region)
    let error = dialect.error(answer, to: try get())
    #expect(error.kind == (region == nil ? .invalidRequest : .wrongRegion))
    if region == nil { #expect(error.message.contains("not followed")) }
    let named = try self.error(301, "{\"Code\":\"PermanentRedirect\",\"Endpoint\":\"\(location)\"}")
    #expect(named.kind == .wrongRegion)
  }

  @Test func aServersFullStopIsNotInTheMiddleOfASentence() throws {
    let error = try error(
      403,
      "{\"Code\":\"AccessDenied\",\"Message\":\"Access denied by policy.\"}"
    )
    #expect(error.message == "Access denied by policy")
  }

  @Test func anotherRegionsEndpointIsOneOfTheSameCloud() throws {
    func moved(_ endpoint: String, _ region: String) throws -> String? {
      dialect.endpoint(try Endpoint(endpoint), in: region)?.description
    }
    #expect(
      try moved("https://tos-cn-beijing.volces.com", "cn-shanghai")
        == "https://tos-cn-shanghai.volces.com"
    )
    #expect(
      try moved("https://tos-cn-beijing.ivolces.com:8443", "cn-shanghai")
        == "https://tos-cn-shanghai.volces.com:8443"
    )
    #expect(try moved("http://127.0.0.1:9000", "cn-shanghai") == nil)
  }

  @Test func whatABucketCanDoFollowsFromItsType() {
    let unknown = dialect.capabilities(of: nil)
    let flat = dialect.capabilities(of: BucketFacts(isHierarchical: false))
    let tree = dialect.capabilities(of: BucketFacts(isHierarchical: true))
    for capabilities in [unknown, flat, tree] {
      #expect(capabilities.hasConditionalCreate == true)
      #expect(capabilities.hasConditionalReplace == true)
      #expect(capabilities.hasConditionalComplete == false)
      #expect(capabilities.hasInPlaceMetadata)
      #expect(capabilities.hasKeyStatus)
      #expect(capabilities.wholeObjectChecksum == .crc64)
    }
    #expect(flat.hasLinks && !tree.hasLinks && !unknown.hasLinks)
    #expect(flat.hasNativeRename == nil)
    #expect(!flat.hasDirectories && !flat.hasRecursiveDelete && !flat.hasSettableTime)
    #expect(tree.hasNativeRename == true)
    #expect(tree.hasDirectories && tree.hasRecursiveDelete && tree.hasSettableTime)
  }
}
