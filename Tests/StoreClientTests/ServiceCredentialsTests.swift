import Core
import HTTP
import StoreWire
import Testing

@testable import StoreClient

@Suite struct ServiceCredentialsTests {
  private static let secret = CredentialBench.secret
  private static let token = CredentialBench.token

  private func safe(_ text: String) {
    for secret in [Self.secret, Self.token, CredentialBench.webToken, "AGENTTOKEN"] {
      #expect(!text.contains(secret))
    }
  }

  // Web identity

  private static let web = [
    "AWS_ROLE_ARN": "arn:aws:iam::1:role/r", "AWS_WEB_IDENTITY_TOKEN_FILE": "/t/token",
    "AWS_ROLE_SESSION_NAME": "me+you", "HOME": "/h", "AWS_EC2_METADATA_DISABLED": "true",
  ]
  private static let tokenFile = ["/t/token": CredentialBench.webToken + "\n"]

  private static func assumed(_ inner: String) -> ScriptedAnswer {
    .answer(
      200,
      text: """
        <AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
        <AssumeRoleWithWebIdentityResult><AssumedRoleUser><Arn>a</Arn></AssumedRoleUser>
        <Credentials>\(inner)</Credentials></AssumeRoleWithWebIdentityResult>
        <ResponseMetadata><RequestId>r</RequestId></ResponseMetadata>
        </AssumeRoleWithWebIdentityResponse>
        """
    )
  }

  private static let keys = assumed(
    "<AccessKeyId>ASIAWEB</AccessKeyId><SecretAccessKey>\(secret)</SecretAccessKey>"
      + "<SessionToken>\(token)</SessionToken><Expiration>2026-11-30T09:30:00Z</Expiration>"
  )

  @Test func tokenIsExchangedWithoutASignatureAndNotInTheURL() async throws {
    let bench = CredentialBench([Self.keys], files: Self.tokenFile)
    let found = await bench.find(Self.web)
    #expect(found.keys?.accessKey == "ASIAWEB")
    #expect(found.keys?.sessionToken == Self.token)
    #expect(found.keys?.expiry?.iso8601 == "2026-11-30T09:30:00Z")
    let request = try #require(bench.client.requests.first)
    #expect(request.method == "POST")
    #expect(request.url == "https://sts.eu-west-1.amazonaws.com/")
    #expect(request.fields["Authorization"] == nil)
    #expect(request.usesProxy)
    guard case .bytes(let body) = request.body else {
      Issue.record("no body")
      return
    }
    let form = String(decoding: body, as: UTF8.self)
    #expect(form.contains("Action=AssumeRoleWithWebIdentity&Version=2011-06-15&"))
    #expect(form.contains("RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr&"))
    #expect(form.contains("RoleSessionName=me%2Byou"))
    #expect(form.hasSuffix("WebIdentityToken=\(CredentialBench.webToken)"))
  }

  @Test func profileMayHaveTheWebIdentity() async {
    var files = Self.tokenFile
    files["/h/.aws/config"] =
      "[profile w]\nrole_arn = arn:x\nweb_identity_token_file = /t/token\nsource_profile = no\n"
    let bench = CredentialBench([Self.keys], files: files)
    let found = await bench.find(["HOME": "/h", "AWS_PROFILE": "w"])
    #expect(found.keys?.accessKey == "ASIAWEB")
  }

  @Test func endpointOfSTSCanBeConfigured() async {
    for name in ["AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL"] {
      let bench = CredentialBench([Self.keys], files: Self.tokenFile)
      _ = await bench.find(Self.web.merging([name: "http://127.0.0.1:7/sts"]) { $1 })
      #expect(bench.client.requests.first?.url == "http://127.0.0.1:7/sts/")
    }
    #expect(
      TokenExchange.aws([:], region: "cn-north-1").endpoint
        == "https://sts.cn-north-1.amazonaws.com.cn"
    )
  }

  @Test(
    arguments: [
      (
        ScriptedAnswer.answer(
          400,
          text: "<ErrorResponse><Error><Type>Sender</Type><Code>InvalidIdentityToken</Code>"
            + "<Message>bad token \(CredentialBench.webToken)</Message></Error></ErrorResponse>"
        ), "InvalidIdentityToken: bad token"
      ),
      (.answer(403, text: "<html>"), "HTTP 403"), (.answer(200, text: "<x"), "can't be read"),
      (.answer(200, text: "{}"), "can't be read"), (.answer(200), "can't be read"),
      (.answer(302, ["Location": "https://evil.example/"]), "HTTP 302"),
      (assumed("<AccessKeyId>A</AccessKeyId>"), "no whole credentials"),
      (
        assumed(
          "<AccessKeyId>A</AccessKeyId><SecretAccessKey>S</SecretAccessKey><SessionToken>T</SessionToken>"
        ), "doesn't say when"
      ),
      (.failure(.unreachable), "doesn't answer"), (.failure(.untrusted), "doesn't answer"),
      (.answer(200, [:], [UInt8](repeating: 0x20, count: 100_000)), "larger than"),
    ] as [(ScriptedAnswer, String)]
  )
  func refusalOfSTSIsOneSentence(_ answer: ScriptedAnswer, _ words: String) async {
    let bench = CredentialBench([answer], files: Self.tokenFile)
    let found = await bench.find(Self.web)
    #expect(found.keys == nil)
    #expect(found.failure.contains(words), "\(found.failure)")
    #expect(found.failure.contains("/t/token"))
    safe(found.failure)
  }

  @Test func passingFailuresOfSTSAreTriedAgain() async {
    let bench = CredentialBench(
      [.answer(503), .failure(.interrupted), Self.keys],
      files: Self.tokenFile
    )
    #expect(await bench.find(Self.web).keys?.accessKey == "ASIAWEB")
    #expect(bench.time.sleeps.count == 2)
  }

  @Test(arguments: [
    (["/t/other": "x"], "no such file"), (["/t/token": ""], "one token"),
    (["/t/token": "a b"], "one token"),
  ])
  func unusableTokenFileIsNamed(_ files: [String: String], _ words: String) async {
    let bench = CredentialBench([Self.keys], files: files)
    let found = await bench.find(Self.web)
    #expect(found.failure.contains(words))
    #expect(bench.client.requests.isEmpty)
  }

  @Test func halfAWebIdentityIsAnError() async {
    let found = await CredentialBench([Self.keys]).find([
      "AWS_WEB_IDENTITY_TOKEN_FILE": "/t/token"
    ])
    #expect(found.failure.contains("not AWS_ROLE_ARN"))
  }

  // Containers

  private static let container = [
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2/credentials/x",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN": "AGENTTOKEN",
  ]

  @Test func containerAgentIsAskedDirectly() async throws {
    let bench = CredentialBench([CredentialBench.document(code: nil)])
    #expect(await bench.find(Self.container).keys?.accessKey == "ASIAEXAMPLE")
    let request = try #require(bench.client.requests.first)
    #expect(request.url == "http://169.254.170.2/v2/credentials/x")
    #expect(request.fields["Authorization"] == "AGENTTOKEN")
    #expect(!request.usesProxy)
  }

  @Test func tokenFileOfTheContainerIsReadEachTime() async {
    let bench = CredentialBench(files: ["/token": "ONE\n"]) { request, _ in
      request.fields["Authorization"] == "TWO"
        ? CredentialBench.document(id: "SECOND", code: nil)
        : CredentialBench.document(id: "FIRST", code: nil)
    }
    let environment = [
      "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1:1/x?y=z",
      "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": "/token",
    ]
    let chain = bench.chain(environment)
    let first = try? await chain.identity()
    #expect(first?.credentials?.accessKey == "FIRST")
    bench.files.write("TWO", to: "/token")
    #expect(await chain.renew(first ?? .anonymous) == .fresh)
    #expect((try? await chain.identity())?.credentials?.accessKey == "SECOND")
  }

  @Test(arguments: [
    "http://evil.example/x", "http://127.0.0.1.evil.example/", "http://127.evil/",
    "http://10.0.0.1/",
    "http://169.254.170.3/", "http://127.1/", "http://2130706433/", "ftp://127.0.0.1/",
    "127.0.0.1/x", "http://u:p@127.0.0.1/", "http://evil.example\\@127.0.0.1/",
    "http://[fd00:ec2::24]/",
  ])
  func tokenGoesNowhereElseUnencrypted(_ uri: String) async {
    let bench = CredentialBench([CredentialBench.document()])
    let found = await bench.find([
      "AWS_CONTAINER_CREDENTIALS_FULL_URI": uri, "AWS_CONTAINER_AUTHORIZATION_TOKEN": "AGENTTOKEN",
    ])
    #expect(found.keys == nil)
    #expect(found.failure.contains("AWS_CONTAINER_CREDENTIALS_FULL_URI"))
    #expect(bench.client.requests.isEmpty)
    safe(found.failure)
  }

  @Test(arguments: [
    "http://localhost:8/x", "http://127.9.9.9/", "http://[::1]:80/", "http://169.254.170.23/v1",
    "http://[fd00:ec2::23]/v1", "https://any.example/x",
  ])
  func agentsMayBeAsked(_ uri: String) async {
    let bench = CredentialBench([CredentialBench.document()])
    let found = await bench.find(["AWS_CONTAINER_CREDENTIALS_FULL_URI": uri])
    #expect(found.keys != nil)
    #expect(bench.client.requests.first?.url == uri)
  }

  @Test(
    arguments: [
      (ScriptedAnswer.answer(404, text: "no"), "HTTP 404"), (.answer(200, text: "garbage"), "JSON"),
      (.answer(200, text: "{\"AccessKeyId\": 5}"), "wrong type"),
      (.answer(200, text: "{}"), "no Acc"),
      (.failure(.unreachable), "no answer"), (.answer(500), "HTTP 500"),
      (.answer(301, ["Location": "http://evil.example"]), "HTTP 301"),
      (CredentialBench.document(expiration: "2026-11-30T08:00:00Z"), "expired at"),
      (.answer(200, [:], [UInt8](repeating: 0x5B, count: 100_000)), "larger than"),
    ] as [(ScriptedAnswer, String)]
  )
  func failureOfAnAgentThatWasNamedIsFinal(_ answer: ScriptedAnswer, _ words: String) async {
    let bench = CredentialBench([answer])
    let found = await bench.find(Self.container)
    #expect(found.keys == nil)
    #expect(found.failure.contains(words), "\(found.failure)")
    #expect(bench.client.requests.allSatisfy { $0.url.contains("169.254.170.2/") })
    safe(found.failure)
  }

  // Instances

  private static func instance(_ answers: [String: ScriptedAnswer] = [:]) -> CredentialBench {
    CredentialBench { request, _ in
      for (path, answer) in answers where request.url.hasSuffix(path) { return answer }
      if request.method == "PUT" { return .answer(200, text: "IMDSTOKEN==") }
      guard request.fields["X-aws-ec2-metadata-token"] == "IMDSTOKEN==" else { return .answer(401) }
      return request.url.hasSuffix("/security-credentials/")
        ? .answer(200, text: "my-role\n") : CredentialBench.document()
    }
  }

  @Test func instanceRoleIsFoundByVersionTwo() async {
    let bench = Self.instance()
    #expect(await bench.find([:]).keys?.accessKey == "ASIAEXAMPLE")
    #expect(bench.client.requests.map(\.method) == ["PUT", "GET", "GET"])
    #expect(bench.client.requests.allSatisfy { !$0.usesProxy })
    #expect(
      bench.client.requests.last?.url
        == "http://169.254.169.254/latest/meta-data/iam/security-credentials/my-role"
    )
    #expect(
      bench.client.requests[0].fields["X-aws-ec2-metadata-token-ttl-seconds"] == "21600"
    )
  }

  @Test func machineInNoCloudLearnsItInASecond() async {
    let bench = CredentialBench([.failure(.timedOut).lasting(.seconds(1))])
    let start = bench.time.now
    let found = await bench.find(["HOME": "/h"])
    #expect(bench.time.now - start <= .seconds(2))
    #expect(bench.client.requests.count == 1)
    #expect(bench.client.requests[0].deadline - start <= .seconds(1))
    #expect(found.failure.hasPrefix("no credentials found; looked in: the environment"))
    for place in ["/h/.aws/config", "web identity", "container", "instance metadata (http://169"] {
      #expect(found.failure.contains(place))
    }
  }

  @Test func instanceMetadataCanBeSwitchedOffOrBeElsewhere() async {
    let off = Self.instance()
    let found = await off.find(["AWS_EC2_METADATA_DISABLED": "TRUE"])
    #expect(found.failure.contains("switched off"))
    #expect(off.client.requests.isEmpty)
    let elsewhere = Self.instance()
    _ = await elsewhere.find(["AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://[fd00:ec2::254]/"])
    #expect(elsewhere.client.requests[0].url == "http://[fd00:ec2::254]/latest/api/token")
  }

  @Test(
    arguments: [
      ("/api/token", ScriptedAnswer.answer(403), "looked in"),
      ("/api/token", .answer(404), "looked in"),
      ("/api/token", .answer(302, ["Location": "http://portal.example"]), "looked in"),
      ("/api/token", .answer(200, text: "a b"), "token can't be one"),
      ("/api/token", .answer(200), "token can't be one"),
      ("-credentials/", .answer(404), "looked in"),
      ("-credentials/", .answer(200), "name of the role"),
      ("-credentials/", .answer(200, text: "../../x"), "name of the role"),
      ("-credentials/", .failure(.stalled), "no answer"),
      ("/my-role", .answer(500), "HTTP 500"), ("/my-role", .answer(200, text: "<html>"), "JSON"),
      (
        "/my-role", .answer(200, text: "{\"Code\": \"Failed\", \"Message\": \"why\"}"),
        "Failed: why"
      ),
      ("/my-role", CredentialBench.document(expiration: "x"), "isn't a date"),
    ] as [(String, ScriptedAnswer, String)]
  )
  func failureOfAnInstanceIsNamed(
    _ path: String,
    _ answer: ScriptedAnswer,
    _ words: String
  ) async {
    let found = await Self.instance([path: answer]).find([:])
    #expect(found.keys == nil)
    #expect(found.failure.contains(words), "\(found.failure)")
    safe(found.failure)
  }

  // The order

  @Test func firstFoundWins() async {
    var all = Self.web.merging(Self.container) { $1 }
    all["AWS_ACCESS_KEY_ID"] = "ENVKEY"
    all["AWS_SECRET_ACCESS_KEY"] = "x"
    var files = Self.tokenFile
    files["/h/.aws/credentials"] =
      "[default]\naws_access_key_id = FILEKEY\naws_secret_access_key = x\n"
    func first(_ environment: [String: String], _ files: [String: String]) async -> String? {
      await CredentialBench(files: files) { request, _ in
        request.method == "POST" ? Self.keys : CredentialBench.document(id: "CONTAINER", code: nil)
      }.find(environment).keys?.accessKey
    }
    #expect(await first(all, files) == "ENVKEY")
    all["AWS_ACCESS_KEY_ID"] = nil
    all["AWS_SECRET_ACCESS_KEY"] = ""
    #expect(await first(all, files) == "FILEKEY")
    #expect(await first(all, Self.tokenFile) == "ASIAWEB")
    all["AWS_WEB_IDENTITY_TOKEN_FILE"] = nil
    #expect(await first(all, Self.tokenFile) == "CONTAINER")
  }

  @Test func profileThatWasAskedForIsTheOnlyPlace() async {
    var options = StoreOptions()
    options.profile = "p"
    let bench = CredentialBench(
      [CredentialBench.document()],
      files: ["/h/.aws/config": "[profile p]\nregion = x\n"]
    )
    let found = await bench.find(Self.container.merging(["HOME": "/h"]) { $1 }, options: options)
    #expect(found.failure.contains("looked in: profile \"p\""))
    #expect(bench.client.requests.isEmpty)
  }

  @Test func anonymousAsksNobody() async {
    var options = StoreOptions()
    options.isAnonymous = true
    let bench = Self.instance()
    let found = await bench.find(Self.container, options: options)
    #expect(found.keys == nil && found.failure.isEmpty)
    #expect(bench.client.requests.isEmpty)
  }
}
