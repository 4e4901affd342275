import Core
import StoreWire
import Testing

@Suite struct S3ErrorsTests {
  private static let key = ObjectKey("dir/k")

  private func get() throws -> WireRequest {
    try S3Requests.getObject(GetRequest(key: Self.key, range: ByteRange(0, 1), ifMatch: ETag("e")))
  }

  private func put(_ condition: WriteCondition) throws -> WireRequest {
    try S3Requests.putObject(PutRequest(key: Self.key, condition: condition))
  }

  private func error(
    _ status: Int,
    _ body: String = "",
    fields: KeyValuePairs<String, String> = [:],
    to request: WireRequest
  ) -> StoreError {
    S3Answers.error(
      WireAnswer(status: status, fields: HeaderFields(fields), body: Array(body.utf8)),
      to: request
    )
  }

  private func body(_ code: String, _ more: String = "") -> String {
    "<?xml version=\"1.0\"?><Error><Code>\(code)</Code>\(more)</Error>"
  }

  @Test(arguments: ["Access Denied.", "Access Denied. ", "Access Denied...", "Access Denied"])
  func aServersFullStopIsNotInTheMiddleOfASentence(said: String) throws {
    let error = error(403, body("AccessDenied", "<Message>\(said)</Message>"), to: try get())
    #expect(error.message == "Access Denied")
    #expect(error.description == "GetObject \"dir/k\": Access Denied (AccessDenied, HTTP 403)")
    let silent = self.error(403, body("AccessDenied", "<Message>.</Message>"), to: try get())
    #expect(silent.message == "the store denies access")
  }

  @Test func anErrorTellsTheWholeStory() throws {
    let error = error(
      404,
      body(
        "NoSuchKey",
        "<Message>The specified key does not exist.</Message><Key>dir/k</Key>"
          + "<RequestId>R1</RequestId><HostId>h</HostId>"
      ),
      fields: ["x-amz-request-id": "R2", "Retry-After": "7"],
      to: try get()
    )
    #expect(
      error
        == StoreError(
          .notFound,
          .getObject,
          key: Self.key,
          status: 404,
          code: "NoSuchKey",
          requestID: "R1",
          message: "The specified key does not exist",
          retryAfter: .seconds(7)
        )
    )
  }

  @Test(
    arguments: [
      (400, "ExpiredToken", .badCredentials), (400, "InvalidToken", .badCredentials),
      (403, "InvalidAccessKeyId", .badCredentials), (403, "SignatureDoesNotMatch", .badCredentials),
      (403, "RequestTimeTooSkewed", .badCredentials), (403, "AccessDenied", .accessDenied),
      (403, "InvalidObjectState", .archived), (404, "NoSuchBucket", .noSuchBucket),
      (404, "NoSuchKey", .notFound), (404, "NoSuchVersion", .notFound),
      (404, "NoSuchUpload", .noSuchUpload), (405, "MethodNotAllowed", .unsupported),
      (412, "PreconditionFailed", .preconditionFailed), (416, "InvalidRange", .rangeNotSatisfiable),
      (409, "OperationAborted", .conflict), (409, "ConditionalRequestConflict", .conflict),
      (301, "PermanentRedirect", .wrongRegion), (307, "TemporaryRedirect", .wrongRegion),
      (400, "EntityTooLarge", .tooLarge), (400, "RequestTimeout", .unreachable),
      (400, "IncompleteBody", .unreachable), (400, "BadDigest", .invalidRequest),
      (400, "InvalidArgument", .invalidRequest), (500, "InternalError", .serverFailure),
      (501, "NotImplemented", .unsupported), (503, "SlowDown", .throttled),
      (503, "ServiceUnavailable", .throttled), (429, "TooManyRequests", .throttled),
    ] as [(Int, String, StoreError.Kind)]
  )
  func aCodeHasItsKind(_ status: Int, _ code: String, _ kind: StoreError.Kind) throws {
    let error = error(status, body(code), to: try get())
    #expect(error.kind == kind)
    #expect(error.code == code)
  }

  @Test(
    arguments: [
      (301, .wrongRegion), (304, .preconditionFailed), (400, .invalidRequest),
      (401, .badCredentials),
      (403, .accessDenied), (404, .notFound), (405, .unsupported), (408, .unreachable),
      (409, .conflict), (411, .invalidRequest), (412, .preconditionFailed), (413, .tooLarge),
      (416, .rangeNotSatisfiable), (418, .invalidRequest), (429, .throttled), (500, .serverFailure),
      (501, .unsupported), (502, .serverFailure), (503, .throttled), (504, .serverFailure),
      (599, .serverFailure), (200, .invalidAnswer), (204, .invalidAnswer), (999, .serverFailure),
      (0, .invalidAnswer), (-1, .invalidAnswer),
    ] as [(Int, StoreError.Kind)]
  )
  func aStatusAloneHasItsKind(_ status: Int, _ kind: StoreError.Kind) throws {
    for body in ["", "<html><body><h1>Bad gateway</h1></body></html>", "\u{0}garbage", "<Error>"] {
      let error = error(status, body, to: try get())
      #expect(error.kind == kind, "\(body)")
      #expect(error.code == nil)
      #expect(!error.message.isEmpty && !error.message.contains("<"))
    }
  }

  @Test func aHeadHasNoBodyButItsFields() throws {
    let head = try S3Requests.headObject(Self.key)
    let error = error(404, fields: ["X-Amz-Request-Id": "R"], to: head)
    #expect(error.kind == .notFound)
    #expect(error.requestID == "R")
    let moved = self.error(400, fields: ["x-amz-bucket-region": "eu-west-1"], to: head)
    #expect(moved.kind == .wrongRegion)
    #expect(moved.message.contains("eu-west-1"))
    #expect(self.error(400, to: head).message.contains("expired"))
  }

  @Test func aMissingThingIsNamedByItsOperation() throws {
    let upload = UploadReference(key: Self.key, uploadID: "u")
    #expect(error(404, to: S3Requests.headBucket()).kind == .noSuchBucket)
    let list = ListRequest(prefix: ObjectKey(""), isDelimited: false)
    #expect(error(404, to: S3Requests.listObjects(list)).kind == .noSuchBucket)
    #expect(error(404, to: try S3Requests.listParts(upload)).kind == .noSuchUpload)
    #expect(error(404, to: try S3Requests.headObject(Self.key)).kind == .notFound)
  }

  @Test func aFailedConditionSaysWhichOne() throws {
    let precondition = body("PreconditionFailed")
    #expect(error(412, precondition, to: try put(.ifAbsent)).kind == .alreadyExists)
    #expect(error(412, to: try put(.ifAbsent)).kind == .alreadyExists)
    #expect(error(412, precondition, to: try put(.ifMatch(ETag("e")))).kind == .preconditionFailed)
    #expect(error(412, to: try get()).kind == .preconditionFailed)
    #expect(
      error(404, body("NoSuchKey"), to: try put(.ifMatch(ETag("e")))).kind == .preconditionFailed
    )
    #expect(error(404, body("NoSuchKey"), to: try get()).kind == .notFound)
    let copy = try S3Requests.copyObject(
      CopyRequest(
        source: CopySource(key: ObjectKey("s"), ifMatch: ETag("e")),
        target: PutRequest(key: Self.key, condition: .ifAbsent)
      ),
      bucket: "b"
    )
    #expect(error(412, precondition, to: copy).kind == .preconditionFailed)
    func blaming(_ condition: String) -> String {
      body("PreconditionFailed", "<Condition>\(condition)</Condition>")
    }
    #expect(error(412, blaming("If-None-Match"), to: copy).kind == .alreadyExists)
    #expect(
      error(412, blaming("x-amz-copy-source-If-Match"), to: copy).kind == .preconditionFailed
    )
  }

  @Test func aFailedGatewayCanNotSayThatAKeyIsGone() throws {
    #expect(error(502, body("NoSuchKey"), to: try get()).kind == .serverFailure)
    #expect(error(503, body("AccessDenied"), to: try get()).kind == .throttled)
    #expect(error(500, body("SlowDown"), to: try get()).kind == .throttled)
  }

  @Test func aWrongRegionSaysTheRightOne() throws {
    let malformed = body("AuthorizationHeaderMalformed", "<Region>eu-west-1</Region>")
    let error = error(400, malformed, to: try get())
    #expect(error.kind == .wrongRegion)
    #expect(error.message.contains("eu-west-1"))
    let answer = WireAnswer(status: 400, body: Array(malformed.utf8))
    #expect(S3Answers.regionHint(answer) == "eu-west-1")
    let without = self.error(400, body("AuthorizationHeaderMalformed"), to: try get())
    #expect(without.kind == .badCredentials)
    #expect(S3Answers.regionHint(WireAnswer(status: 400, body: Array("<x".utf8))) == nil)
  }

  @Test func whatTheStoreSaysIsShortAndPrintable() throws {
    let long = String(repeating: "x", count: 10_000)
    let error = error(
      400,
      body(long, "<Message>a\u{1B}[2J&#10;\(long)</Message><RequestId>\(long)</RequestId>"),
      to: try get()
    )
    #expect(error.kind == .invalidRequest)
    #expect(error.description.utf8.count < 1000)
    let multiline = self.error(
      400,
      body("X", "<Message>one&#10;two</Message>"),
      to: try get()
    )
    #expect(!multiline.description.contains("\n"))
  }

  @Test(
    arguments: [
      ("0", 0), ("120", 120), ("99999999999", 86_400), ("Mon, 30 Nov 2026 08:30:09 GMT", 9),
      ("Mon, 30 Nov 2026 08:29:00 GMT", nil), ("-5", nil), ("soon", nil),
    ] as [(String, Int?)]
  )
  func theTimeToWaitIsRead(_ text: String, _ seconds: Int?) throws {
    let error = error(
      503,
      fields: ["Retry-After": text, "Date": "Mon, 30 Nov 2026 08:30:00 GMT"],
      to: try get()
    )
    #expect(error.retryAfter == seconds.map { .seconds($0) })
  }
}
