import Core
import HTTP
import StoreWire
import Testing

@testable import StoreClient

/// Services of Volcengine that hand out credentials: STS and instance metadata.
@Suite struct VolcengineServiceTests {
  private static let secret = CredentialBench.secret
  private static let token = CredentialBench.token

  private func safe(_ text: String) {
    for secret in [Self.secret, Self.token, CredentialBench.webToken] {
      #expect(!text.contains(secret))
    }
  }

  // Workload identity

  private static let workload = [
    "VOLCENGINE_OIDC_ROLE_TRN": "trn:iam::1:role/r", "VOLCENGINE_OIDC_TOKEN_FILE": "/t/token",
    "VOLCENGINE_OIDC_ROLE_SESSION_NAME": "me+you", "HOME": "/h",
    "VOLCENGINE_ECS_METADATA_DISABLED": "true",
  ]
  private static let tokenFile = ["/t/token": CredentialBench.webToken + "\n"]

  private static func answer(_ keys: String, status: Int = 200) -> ScriptedAnswer {
    .answer(
      status,
      text: "{\"ResponseMetadata\": {\"RequestId\": \"R1\", \"Action\": \"AssumeRoleWithOIDC\"}, "
        + "\"Result\": {\"Credentials\": {\(keys)}, \"AssumedRoleUser\": {\"Trn\": \"t\"}}}"
    )
  }

  private static let keys = answer(
    "\"CurrentTime\": \"2026-11-30T16:30:00+08:00\", \"Expiration\": \"2026-11-30T17:30:00+08:00\", "
      + "\"AccessKeyId\": \"AKTPX\", \"SecretAccessKey\": \"\(secret)\", \"SessionToken\": \"\(token)\""
  )

  @Test func tokenIsExchangedInTheVendorsWords() async throws {
    let bench = CredentialBench([Self.keys], files: Self.tokenFile)
    let found = await bench.findTOS(Self.workload)
    #expect(found.keys?.accessKey == "AKTPX")
    #expect(found.keys?.secretKey == Self.secret)
    #expect(found.keys?.sessionToken == Self.token)
    #expect(found.keys?.expiry?.iso8601 == "2026-11-30T09:30:00Z")
    let request = try #require(bench.client.requests.first)
    #expect(request.method == "POST")
    #expect(
      request.url == "https://sts.volcengineapi.com/?Action=AssumeRoleWithOIDC&Version=2018-01-01"
    )
    #expect(request.fields["Content-Type"] == "application/x-www-form-urlencoded")
    #expect(request.fields["Authorization"] == nil)
    #expect(request.usesProxy)
    guard case .bytes(let body) = request.body else {
      Issue.record("no body")
      return
    }
    #expect(
      String(decoding: body, as: UTF8.self)
        == "RoleTrn=trn%3Aiam%3A%3A1%3Arole%2Fr&OIDCToken=\(CredentialBench.webToken)"
        + "&RoleSessionName=me%2Byou&DurationSeconds=3600"
    )
  }

  @Test func policyGoesAlong() async throws {
    let bench = CredentialBench([Self.keys], files: Self.tokenFile)
    _ = await bench.findTOS(
      Self.workload.merging(["VOLCENGINE_OIDC_ROLE_POLICY": "{\"a\":1}"]) { $1 }
    )
    guard case .bytes(let body)? = bench.client.requests.first?.body else {
      Issue.record("no body")
      return
    }
    #expect(String(decoding: body, as: UTF8.self).hasSuffix("&Policy=%7B%22a%22%3A1%7D"))
  }

  @Test(arguments: [
    ("sts.byteplus.example", "https://sts.byteplus.example/?"),
    ("https://sts.example/", "https://sts.example/?"),
    ("http://127.0.0.1:7", "http://127.0.0.1:7/?"),
  ])
  func endpointOfSTSCanBeConfigured(_ text: String, _ url: String) async {
    let bench = CredentialBench([Self.keys], files: Self.tokenFile)
    _ = await bench.findTOS(
      Self.workload.merging(["VOLCENGINE_OIDC_STS_ENDPOINT": text]) { $1 }
    )
    #expect(bench.client.requests.first?.url.hasPrefix(url) == true)
  }

  @Test(arguments: ["http://sts.example", "http://127.0.0.1.evil.example", "ftp://x"])
  func tokenGoesNowhereElseUnencrypted(_ endpoint: String) async {
    let bench = CredentialBench([Self.keys], files: Self.tokenFile)
    let found = await bench.findTOS(
      Self.workload.merging(["VOLCENGINE_OIDC_STS_ENDPOINT": endpoint]) { $1 }
    )
    #expect(found.keys == nil)
    #expect(bench.client.requests.isEmpty)
    safe(found.failure)
  }

  @Test func halfARoleIsAnError() async {
    let bench = CredentialBench([Self.keys], files: Self.tokenFile)
    let found = await bench.findTOS(["VOLCENGINE_OIDC_TOKEN_FILE": "/t/token"])
    #expect(
      found.failure
        == "the environment has VOLCENGINE_OIDC_TOKEN_FILE but not VOLCENGINE_OIDC_ROLE_TRN"
    )
  }

  @Test(
    arguments: [
      (
        ScriptedAnswer.answer(
          400,
          text:
            "{\"ResponseMetadata\": {\"RequestId\": \"R9\", \"Error\": {\"Code\": \"InvalidToken\", "
            + "\"Message\": \"bad token \(CredentialBench.webToken)\"}}}"
        ), "STS refuses (HTTP 400, request R9): InvalidToken: bad token"
      ),
      (
        .answer(200, text: "{\"ResponseMetadata\": {\"Error\": {\"Code\": \"AccessDenied\"}}}"),
        "STS refuses (HTTP 200): AccessDenied"
      ),
      (.answer(403, text: "<html>"), "STS refuses (HTTP 403)"),
      (.answer(302, ["Location": "https://evil.example/"]), "HTTP 302"),
      (.answer(200, text: "{}"), "has no credentials"), (.answer(200), "has no credentials"),
      (.answer(200, text: "[]"), "has no credentials"),
      (answer("\"AccessKeyId\": \"A\""), "has AccessKeyId but not SecretAccessKey"),
      (answer("\"AccessKeyId\": \"A\", \"SecretAccessKey\": \"\(secret)\""), "no session token"),
      (
        answer(
          "\"AccessKeyId\": \"A\", \"SecretAccessKey\": \"\(secret)\", \"SessionToken\": \"\(token)\", "
            + "\"Expiration\": \"soon\""
        ), "isn't a date"
      ),
      (.failure(.unreachable), "doesn't answer"), (.failure(.untrusted), "doesn't answer"),
    ] as [(ScriptedAnswer, String)]
  )
  func refusalOfSTSIsOneSentence(_ answer: ScriptedAnswer, _ words: String) async {
    let bench = CredentialBench([answer], files: Self.tokenFile)
    let found = await bench.findTOS(Self.workload)
    #expect(found.keys == nil)
    #expect(found.failure.contains(words), "\(found.failure)")
    #expect(bench.client.requests.allSatisfy { $0.url.hasPrefix("https://sts.volcengineapi.com/") })
    safe(found.failure)
  }

  @Test func profileOfVolcengineMayHaveTheRole() async {
    var files = Self.tokenFile
    files["/h/.volcengine/config.json"] =
      "{\"current\": \"w\", \"profiles\": {\"w\": {\"mode\": \"OIDC\", \"role-trn\": \"trn:x\", "
      + "\"oidc-token-file\": \"/t/token\"}, \"e\": {\"mode\": \"EcsRole\", \"role-name\": \"named\"}}}"
    let bench = CredentialBench([Self.keys], files: files)
    #expect(await bench.findTOS(["HOME": "/h"]).keys?.accessKey == "AKTPX")
    let metadata = Self.instance(files: files)
    let found = await metadata.findTOS(["HOME": "/h", "VOLCENGINE_PROFILE": "e"])
    #expect(found.keys?.accessKey == "AKTPI")
    #expect(metadata.client.requests.last?.url.hasSuffix("/security_credentials/named") == true)
  }

  // Instances

  private static let document = ScriptedAnswer.answer(
    200,
    text: "{\"AccessKeyId\": \"AKTPI\", \"SecretAccessKey\": \"\(secret)\", "
      + "\"SessionToken\": \"\(token)\", \"ExpiredTime\": \"2026-11-30T22:30:00+08:00\", "
      + "\"CurrentTime\": \"2026-11-30T16:30:00+08:00\"}"
  )

  /// A machine whose service hands out tokens by `method`, or none.
  private static func instance(
    tokenBy method: String? = "PUT",
    _ answers: [String: ScriptedAnswer] = [:],
    files: [String: String] = [:]
  ) -> CredentialBench {
    CredentialBench(files: files) { request, _ in
      for (path, answer) in answers where request.url.hasSuffix(path) { return answer }
      if request.url.hasSuffix("/latest/api/token") {
        return request.method == method ? .answer(200, text: "IMDS==\n") : .answer(405)
      }
      guard request.fields["X-volc-ecs-metadata-token"] == (method == nil ? nil : "IMDS==") else {
        return .answer(401)
      }
      return request.url.hasSuffix("?type=user")
        ? .answer(200, text: "[\"my-role\", \"second\"]") : document
    }
  }

  @Test(arguments: ["PUT", "GET", nil] as [String?])
  func roleIsFoundWithATokenOrWithout(_ method: String?) async {
    let bench = Self.instance(tokenBy: method)
    let found = await bench.findTOS([:])
    #expect(found.keys?.accessKey == "AKTPI")
    #expect(found.keys?.sessionToken == Self.token)
    #expect(found.keys?.expiry?.iso8601 == "2026-11-30T14:30:00Z")
    #expect(
      bench.client.requests.last?.url
        == "http://100.96.0.96/volcstack/latest/iam/security_credentials/my-role"
    )
    #expect(bench.client.requests.last?.method == "GET")
    #expect(bench.client.requests.allSatisfy { !$0.usesProxy })
    #expect(
      bench.client.requests[0].fields["X-volc-ecs-metadata-token-ttl-seconds"] == "21600"
    )
  }

  @Test func roleMayBeNamedAndTheServiceBeElsewhere() async {
    let bench = Self.instance()
    _ = await bench.findTOS([
      "VOLCENGINE_ECS_METADATA": "a role",
      "VOLCENGINE_ECS_METADATA_ENDPOINT": "http://127.0.0.1:7/",
    ])
    #expect(
      bench.client.requests.map(\.url) == [
        "http://127.0.0.1:7/latest/api/token",
        "http://127.0.0.1:7/volcstack/latest/iam/security_credentials/a%20role",
      ]
    )
    let off = Self.instance()
    let found = await off.findTOS(["VOLCENGINE_ECS_METADATA_DISABLED": "True"])
    #expect(found.failure.contains("switched off by VOLCENGINE_ECS_METADATA_DISABLED"))
    #expect(off.client.requests.isEmpty)
  }

  @Test func namesMayComeALineEach() async {
    let bench = Self.instance(["?type=user": .answer(200, text: "\n role-x \nother\n")])
    _ = await bench.findTOS([:])
    #expect(bench.client.requests.last?.url.hasSuffix("/role-x") == true)
  }

  @Test func machineInNoCloudLearnsItInASecond() async {
    let bench = CredentialBench([.failure(.timedOut).lasting(.seconds(1))])
    let start = bench.time.now
    let found = await bench.findTOS(["HOME": "/h"])
    #expect(bench.time.now - start <= .seconds(2))
    #expect(bench.client.requests.count == 1)
    #expect(bench.client.requests[0].deadline - start <= .seconds(1))
    #expect(found.failure.hasPrefix("no credentials found; looked in: the environment"))
  }

  @Test(
    arguments: [
      ("/api/token", ScriptedAnswer.answer(200, text: "a b"), "token can't be one"),
      ("/api/token", .answer(200), "token can't be one"),
      ("?type=user", .answer(404), "looked in"), ("?type=user", .answer(200), "looked in"),
      ("?type=user", .answer(200, text: "[]"), "looked in"),
      ("?type=user", .answer(500), "HTTP 500"),
      ("?type=user", .answer(200, text: "../../x"), "name of the role"),
      ("?type=user", .failure(.stalled), "no answer"),
      ("/my-role", .answer(404), "for the role my-role is HTTP 404"),
      ("/my-role", .answer(200, text: "<html>"), "JSON"),
      ("/my-role", .answer(200, text: "{}"), "has no AccessKeyId"),
    ] as [(String, ScriptedAnswer, String)]
  )
  func failureOfAnInstanceIsNamed(
    _ path: String,
    _ answer: ScriptedAnswer,
    _ words: String
  ) async {
    let found = await Self.instance([path: answer]).findTOS([:])
    #expect(found.keys == nil)
    #expect(found.failure.contains(words), "\(found.failure)")
    safe(found.failure)
  }

  @Test func somebodyElseAtThatAddressIsNoInstance() async {
    // A web server that says 200 with a page, or 403, to everything but the token.
    for page in [ScriptedAnswer.answer(200, text: "<html>\nhello</html>"), .answer(403)] {
      let bench = Self.instance(tokenBy: nil, ["?type=user": page])
      let found = await bench.findTOS([:])
      #expect(found.failure.hasPrefix("no credentials found"), "\(found.failure)")
    }
  }
}
