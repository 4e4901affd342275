import Core
import HTTP
import StoreClient
import StoreWire
import Testing

@Suite struct CorrectionTests {
  private static let head = ScriptedAnswer.answer(
    200,
    ["ETag": "\"v1\"", "Content-Length": "5", "Last-Modified": "Mon, 30 Nov 2026 08:00:00 GMT"]
  )
  private static let listing = ScriptedAnswer.answer(
    200,
    text: "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"
  )

  private func list(_ bench: Bench, retries: Int? = 0) async throws(StoreError) {
    _ = try await bench.store.list(
      ListRequest(prefix: ObjectKey(""), isDelimited: false),
      context: bench.context(retries: retries)
    )
  }

  private func head(_ bench: Bench) async throws(StoreError) {
    _ = try await bench.store.head(
      ObjectKey("k"),
      versionID: nil,
      ifMatch: nil,
      context: bench.context(retries: 0)
    )
  }

  // The clock

  private static let skewed = ScriptedAnswer.error(
    403,
    "RequestTimeTooSkewed",
    ["Date": "Mon, 30 Nov 2026 11:30:00 GMT"]
  )

  @Test func skewedClockIsCorrectedAndStaysSo() async throws {
    let bench = try Bench([Self.skewed, Self.listing])
    try await list(bench)
    try await list(bench)
    let dates = bench.client.requests.map { $0.fields["x-amz-date"] ?? "" }
    #expect(dates.count == 3)
    #expect(dates[0].hasPrefix("20261130T0830"))
    #expect(dates[1].hasPrefix("20261130T1130"))
    #expect(dates[2].hasPrefix("20261130T1130"))
    #expect(bench.time.sleeps == [])
  }

  @Test func clockIsCorrectedOncePerCall() async throws {
    let bench = try Bench([Self.skewed])
    let error = await Bench.failure { () throws(StoreError) in try await list(bench) }
    #expect(error?.code == "RequestTimeTooSkewed")
    #expect(error?.kind == .badCredentials)
    #expect(bench.client.requests.count == 2)
  }

  @Test func muteRefusalWithAnotherDateCorrectsTheClock() async throws {
    let bench = try Bench([
      .answer(403, ["Date": "Mon, 30 Nov 2026 11:30:00 GMT"]), Self.head,
    ])
    try await head(bench)
    #expect(bench.client.requests[1].fields["x-amz-date"]?.hasPrefix("20261130T1130") == true)
  }

  @Test func absurdDateDoesNotTrap() async throws {
    let bench = try Bench([
      .error(403, "RequestTimeTooSkewed", ["Date": "Mon, 01 Jan 0001 00:00:00 GMT"])
    ])
    let error = await Bench.failure { () throws(StoreError) in try await list(bench) }
    #expect(error?.kind == .badCredentials)
  }

  // Credentials

  private func profileBench(_ answers: [ScriptedAnswer], _ files: MemoryFiles) throws -> Bench {
    let environment = ["HOME": "/home/u"]
    return try Bench(
      answers,
      credentials: CredentialChain(
        options: StoreOptions(),
        environment: environment,
        files: ConfigurationFiles(environment: environment, reader: files)
      )
    )
  }

  private static func profile(_ id: String) -> String {
    "[default]\naws_access_key_id = \(id)\naws_secret_access_key = s-\(id)\naws_session_token = t-\(id)\n"
  }

  @Test func expiredTokenReadsTheFilesAgain() async throws {
    let files = MemoryFiles(["/home/u/.aws/credentials": Self.profile("OLD")])
    let environment = ["HOME": "/home/u"]
    let bench = try Bench(
      credentials: CredentialChain(
        options: StoreOptions(),
        environment: environment,
        files: ConfigurationFiles(environment: environment, reader: files)
      )
    ) { request, _ in
      guard request.fields["x-amz-security-token"] != "t-OLD" else {
        files.write(Self.profile("NEW"), to: "/home/u/.aws/credentials")
        return .error(400, "ExpiredToken")
      }
      return Self.listing
    }
    try await list(bench)
    #expect(bench.client.requests.count == 2)
    #expect(bench.client.requests[1].fields["Authorization"]?.contains("NEW/") == true)
  }

  @Test func expiredTokenIsFinalIfTheFilesAreTheSame() async throws {
    let files = MemoryFiles(["/home/u/.aws/credentials": Self.profile("OLD")])
    let bench = try profileBench([.error(400, "ExpiredToken")], files)
    let error = await Bench.failure { () throws(StoreError) in try await list(bench) }
    #expect(error?.kind == .badCredentials)
    #expect(error?.code == "ExpiredToken")
    #expect(error?.message.contains("/home/u/.aws/credentials") == true)
    #expect(error?.message.contains("log in again") == true)
    #expect(bench.client.requests.count == 1)
  }

  @Test func credentialsThatAreNewEachTimeAreAskedForOnceACall() async throws {
    let files = MemoryFiles(["/home/u/.aws/credentials": Self.profile("ID")])
    let environment = ["HOME": "/home/u"]
    let bench = try Bench(
      credentials: CredentialChain(
        options: StoreOptions(),
        environment: environment,
        files: ConfigurationFiles(environment: environment, reader: files)
      )
    ) { _, index in
      // A test that fails must end, too.
      guard index < 10 else { return Self.listing }
      files.write(Self.profile("ID\(index)"), to: "/home/u/.aws/credentials")
      return .error(400, "ExpiredToken")
    }
    let error = await Bench.failure { () throws(StoreError) in try await list(bench) }
    #expect(error?.code == "ExpiredToken")
    #expect(bench.client.requests.count == 2)
  }

  @Test func noCredentialsSayWhereWasLooked() async throws {
    let bench = try profileBench([Self.listing], MemoryFiles([:]))
    let error = await Bench.failure { () throws(StoreError) in try await list(bench) }
    #expect(error?.kind == .badCredentials)
    #expect(error?.message.contains("AWS_ACCESS_KEY_ID") == true)
    #expect(error?.message.contains("/home/u/.aws/credentials") == true)
    #expect(bench.client.requests.isEmpty)
  }

  @Test func anonymousRequestsAreUnsigned() async throws {
    let bench = try Bench([Self.listing], credentials: CredentialChain([AnonymousCredentials()]))
    try await list(bench)
    #expect(bench.client.requests[0].fields["Authorization"] == nil)
    #expect(bench.client.requests[0].fields["x-amz-date"] == nil)
  }

  // Regions

  private func aws() throws -> StoreSettings {
    try StoreSettings(options: StoreOptions(), environment: [:], profile: ConfigurationProfile())
  }

  @Test func malformedAuthorizationNamesTheRegion() async throws {
    let bench = try Bench([
      .error(400, "AuthorizationHeaderMalformed", extra: "<Region>eu-west-1</Region>"),
      Self.listing,
    ])
    try await list(bench)
    try await list(bench)
    let scopes = bench.client.requests.map { $0.fields["Authorization"] ?? "" }
    #expect(scopes.count == 3)
    #expect(scopes[0].contains("/us-east-1/s3/"))
    #expect(scopes[1].contains("/eu-west-1/s3/"))
    #expect(scopes[2].contains("/eu-west-1/s3/"))
    // A configured endpoint stays.
    #expect(bench.client.requests[1].url.hasPrefix("http://127.0.0.1:9000/data/"))
  }

  @Test(arguments: [
    ScriptedAnswer.error(
      301,
      "PermanentRedirect",
      ["x-amz-bucket-region": "eu-west-1"],
      extra: "<Endpoint>data.evil.example</Endpoint>"
    ),
    .error(307, "TemporaryRedirect", ["x-amz-bucket-region": "eu-west-1"]),
    .answer(400, ["x-amz-bucket-region": "eu-west-1"]),
    .answer(301, ["x-amz-bucket-region": "eu-west-1", "Location": "http://evil.example/"]),
    .answer(307, ["Location": "https://data.s3.eu-west-1.amazonaws.com/k?x=y"]),
  ])
  func redirectMovesTheHostToTheRegion(_ redirect: ScriptedAnswer) async throws {
    let bench = try Bench([redirect, Self.head], settings: aws())
    try await head(bench)
    try await head(bench)
    let hosts = bench.client.requests.map { $0.url.split(separator: "/")[1] }
    #expect(
      hosts == [
        "data.s3.us-east-1.amazonaws.com", "data.s3.eu-west-1.amazonaws.com",
        "data.s3.eu-west-1.amazonaws.com",
      ]
    )
  }

  @Test func redirectLoopEnds() async throws {
    let bench = try Bench(settings: aws()) { _, index in
      .error(301, "PermanentRedirect", ["x-amz-bucket-region": "region-\(index)"])
    }
    let error = await Bench.failure { () throws(StoreError) in try await list(bench) }
    #expect(error?.kind == .wrongRegion)
    #expect(bench.client.requests.count == 2)
  }

  @Test func redirectBackAndForthEnds() async throws {
    let bench = try Bench(settings: aws()) { request, _ in
      let other = request.url.contains("eu-west-1") ? "us-east-1" : "eu-west-1"
      return .error(301, "PermanentRedirect", ["x-amz-bucket-region": other])
    }
    let error = await Bench.failure { () throws(StoreError) in try await list(bench) }
    #expect(error?.kind == .wrongRegion)
    #expect(bench.client.requests.count == 2)
  }

  @Test(arguments: ["evil.example/x", "a b", "", "x@y", "..", String(repeating: "r", count: 200)])
  func hostileRegionIsNotFollowed(_ region: String) async throws {
    let bench = try Bench(
      [.error(301, "PermanentRedirect", ["x-amz-bucket-region": region])],
      settings: aws()
    )
    let error = await Bench.failure { () throws(StoreError) in try await list(bench) }
    #expect(error?.kind == .wrongRegion)
    #expect(bench.client.requests.count == 1)
  }

  @Test(arguments: [301, 302, 303, 307, 308])
  func redirectElsewhereIsNotFollowedAndNamesTheHost(_ status: Int) async throws {
    let bench = try Bench(
      [.answer(status, ["Location": "https://portal.example:8443/login?key=k"])],
      settings: aws()
    )
    let error = await Bench.failure { () throws(StoreError) in try await list(bench, retries: 5) }
    #expect(error?.kind == .invalidRequest)
    #expect(error?.message.contains("https://portal.example:8443") == true)
    #expect(error?.message.contains("login") == false)
    #expect(bench.client.requests.count == 1)
  }

  @Test func endpointOfAnotherDomainIsNotFollowed() async throws {
    let bench = try Bench(
      [
        .error(
          301,
          "PermanentRedirect",
          extra: "<Endpoint>data.s3.eu-west-1.amazonaws.com.evil.example</Endpoint>"
        )
      ],
      settings: aws()
    )
    let error = await Bench.failure { () throws(StoreError) in try await list(bench) }
    #expect(error?.kind == .wrongRegion)
    #expect(error?.message.contains("amazonaws.com.evil.example") == true)
    #expect(bench.client.requests.count == 1)
  }

  @Test func endpointOfTheSameServiceIsFollowedByItsRegion() async throws {
    let bench = try Bench(
      [
        .error(
          301,
          "PermanentRedirect",
          extra: "<Endpoint>data.s3-eu-west-1.amazonaws.com</Endpoint>"
        ), Self.listing,
      ],
      settings: aws()
    )
    try await list(bench)
    #expect(
      bench.client.requests[1].url.hasPrefix("https://data.s3.eu-west-1.amazonaws.com/")
    )
  }

  // All of them together

  @Test func correctionsAndRepeatsShareOneDeadline() async throws {
    let bench = try Bench(
      [
        Self.skewed.lasting(.seconds(10)),
        .error(503, "SlowDown", ["Retry-After": "10"]).lasting(.seconds(10)),
        .answer(301, ["x-amz-bucket-region": "eu-west-1"]).lasting(.seconds(10)),
        Self.listing.lasting(.seconds(25)),
      ],
      settings: aws()
    )
    let end = bench.time.now + .seconds(60)
    let error = await Bench.failure { () throws(StoreError) in try await list(bench, retries: 9) }
    #expect(error?.kind == .timedOut)
    #expect(bench.client.requests.map(\.deadline) == [end, end, end, end])
    #expect(bench.time.now - end < .seconds(10))
  }
}
