import Core
import HTTP
import StoreWire
import Testing

@testable import StoreClient

/// Where a TOS bucket is, by all who may say it.
@Suite struct TOSSettingsTests {
  private func settings(
    _ environment: [String: String] = [:],
    files: [String: String] = [:],
    bucket: String = "data",
    change: (inout StoreOptions) -> Void = { _ in }
  ) async throws(ConfigurationError) -> StoreSettings {
    var options = StoreOptions()
    change(&options)
    return try await StoreSettings(
      tos: options,
      environment: environment,
      files: TOSConfigurationFiles(
        environment: environment.merging(["HOME": "/h"]) { own, _ in own },
        profile: options.profile,
        reader: MemoryFiles(files)
      ),
      bucket: bucket
    )
  }

  private func failure(
    _ environment: [String: String] = [:],
    files: [String: String] = [:],
    change: (inout StoreOptions) -> Void = { _ in }
  ) async -> String {
    do throws(ConfigurationError) {
      let found = try await settings(environment, files: files, change: change)
      return "no failure, but \(found.endpoint) in \(found.region)"
    } catch {
      return error.description
    }
  }

  private static let files = [
    "/h/.tos/config.toml": """
    [default]
    region = "cn-guangzhou"
    [other]
    region = "ap-southeast-1"
    [other.ve-tos]
    endpoint = "tos-ap-southeast-1.ibytepluses.com"
    [draft]
    region = "<YOUR_REGION>"
    endpoint = "<YOUR_ENDPOINT>"
    """,
    "/h/.tosutilconfig": "endpoint=tos-cn-shanghai.volces.com\nregion=cn-shanghai\n",
    "/h/.volcengine/config.json":
      "{\"current\": \"a\", \"profiles\": {\"a\": {\"region\": \"cn-hongkong\", \"endpoint\": \"open.volcengineapi.com\"}}}",
  ]

  @Test func endpointIsMadeOfTheRegion() async throws {
    let found = try await settings { $0.region = "cn-beijing" }
    #expect(found.endpoint.description == "https://tos-cn-beijing.volces.com")
    #expect(found.endpoint.addressing == .virtualHost)
    #expect(found.region == "cn-beijing")
    #expect(found.dialect == .tos)
  }

  @Test(arguments: [
    ("tos-cn-shanghai.volces.com", "https://tos-cn-shanghai.volces.com", "cn-shanghai"),
    (
      "http://tos-ap-southeast-1.ibytepluses.com:80/",
      "http://tos-ap-southeast-1.ibytepluses.com", "ap-southeast-1"
    ),
    ("https://data.tos-cn-beijing.volces.com", "https://tos-cn-beijing.volces.com", "cn-beijing"),
    ("TOS-cn-Beijing.volces.com", "https://tos-cn-beijing.volces.com", "cn-beijing"),
  ])
  func regionIsThatOfTheEndpoint(_ text: String, _ endpoint: String, _ region: String) async throws
  {
    let found = try await settings { $0.endpoint = text }
    #expect(found.endpoint.description == endpoint)
    #expect(found.region == region)
  }

  @Test func firstPlaceThatSaysCounts() async throws {
    let variables = ["TOS_REGION": "cn-a", "VOLCENGINE_REGION": "cn-b"]
    var files = Self.files
    #expect(try await settings(variables, files: files) { $0.region = "cn-o" }.region == "cn-o")
    #expect(try await settings(variables, files: files).region == "cn-a")
    #expect(try await settings(["VOLCENGINE_REGION": "cn-b"], files: files).region == "cn-b")
    #expect(try await settings(files: files).region == "cn-guangzhou")
    files["/h/.tos/config.toml"] = nil
    #expect(try await settings(files: files).region == "cn-shanghai")
    files["/h/.tosutilconfig"] = nil
    #expect(try await settings(files: files).region == "cn-hongkong")
    #expect(try await settings(files: files).endpoint.host == "tos-cn-hongkong.volces.com")
  }

  @Test func profileThatWasAskedForIsTheOnlyFile() async throws {
    let other = try await settings(files: Self.files) { $0.profile = "other" }
    #expect(other.endpoint.host == "tos-ap-southeast-1.ibytepluses.com")
    #expect(
      try await settings(["TOS_PROFILE": "other"], files: Self.files).region == "ap-southeast-1"
    )
    let shared = try await settings(files: Self.files) { $0.profile = "a" }
    #expect(shared.region == "cn-hongkong")
    let none = await failure(files: Self.files) { $0.profile = "none" }
    #expect(
      none == "there is no profile \"none\" in /h/.tos/config.toml, /h/.tos/credentials.toml, "
        + "/h/.volcengine/config.json"
    )
    // A placeholder says nothing.
    let draft = await failure(files: Self.files) { $0.profile = "draft" }
    #expect(draft.hasPrefix("nothing says where"))
  }

  @Test func earlierPlaceDecidesWhereTwoContradictEachOther() async throws {
    // The region of the command line isn't asked for at the endpoint of a file.
    var files = Self.files
    files["/h/.tos/config.toml"] = nil
    let moved = try await settings(files: files) { $0.region = "cn-beijing" }
    #expect(moved.endpoint.host == "tos-cn-beijing.volces.com")
    let byteplus = try await settings(["TOS_REGION": "ap-southeast-3"], files: Self.files) {
      $0.profile = "other"
    }
    #expect(byteplus.endpoint.host == "tos-ap-southeast-3.bytepluses.com")
    #expect(byteplus.region == "ap-southeast-3")
    // The endpoint of the command line isn't signed for in the region of a variable.
    let stays = try await settings(["TOS_REGION": "cn-x"]) {
      $0.endpoint = "tos-cn-beijing.volces.com"
    }
    #expect(stays.region == "cn-beijing")
    #expect(stays.endpoint.host == "tos-cn-beijing.volces.com")
  }

  @Test func onePlaceMustNotContradictItself() async {
    #expect(
      await failure {
        $0.endpoint = "tos-cn-beijing.volces.com"
        $0.region = "cn-shanghai"
      } == "--endpoint is in cn-beijing, but --region says cn-shanghai; leave one of them out"
    )
    #expect(
      await failure(["TOS_ENDPOINT": "tos-cn-beijing.volces.com", "TOS_REGION": "cn-x"])
        .hasPrefix("TOS_ENDPOINT is in cn-beijing, but TOS_REGION says cn-x")
    )
  }

  @Test func nobodySaysWhere() async {
    #expect(
      await failure()
        == "nothing says where this TOS bucket is; give --region (such as cn-beijing) or --endpoint, or "
        + "set TOS_REGION or TOS_ENDPOINT"
    )
  }

  @Test func endpointsOfOtherServicesAreRefused() async {
    #expect(
      await failure { $0.endpoint = "https://tos-s3-cn-beijing.volces.com" }
        == "the endpoint tos-s3-cn-beijing.volces.com speaks S3, not TOS's own protocol; use "
        + "tos-cn-beijing.volces.com for tos://, or name the bucket s3://data"
    )
    #expect(
      await failure(["TOS_ENDPOINT": "b.tos-s3-cn-beijing.ivolces.com"]).contains(
        "use tos-cn-beijing.ivolces.com"
      )
    )
    #expect(
      await failure { $0.endpoint = "tos-control-cn-beijing.volces.com" }.contains("no objects")
    )
    #expect(
      await failure { $0.endpoint = "else.tos-cn-beijing.volces.com" }
        == "the endpoint else.tos-cn-beijing.volces.com is an address of another bucket; use "
        + "tos-cn-beijing.volces.com"
    )
  }

  @Test func pathStyleIsForNumbersAndLocalhostOrAsked() async throws {
    for endpoint in [
      "http://127.0.0.1:9", "http://[::1]:9", "http://localhost:9", "http://gateway:9",
    ] {
      let found = try await settings { $0.endpoint = endpoint }
      #expect(found.endpoint.addressing == .path)
      #expect(found.region == "cn-beijing")
    }
    let asked = try await settings {
      $0.endpoint = "tos-cn-beijing.volces.com"
      $0.usesPathStyle = true
    }
    #expect(asked.endpoint.addressing == .path)
    #expect(
      try await settings(["TOS_REGION": "cn-x"]) { $0.endpoint = "http://127.0.0.1:9" }.region
        == "cn-x"
    )
  }

  @Test func domainOfTheBucketsOwnNeedsARegion() async throws {
    let found = try await settings(["TOS_REGION": "cn-beijing"]) {
      $0.endpoint = "data.example.org"
      $0.usesOwnDomain = true
    }
    #expect(found.endpoint.description == "https://data.example.org")
    #expect(found.endpoint.addressing == .ownDomain)
    #expect(
      await failure { $0.endpoint = "data.example.org" }
        == "the endpoint data.example.org doesn't say its region; give --region or set TOS_REGION"
    )
    let publicName = try await settings {
      $0.endpoint = "data.example.org"
      $0.isAnonymous = true
    }
    #expect(publicName.region.isEmpty)
    #expect(
      await failure {
        $0.region = "cn-beijing"
        $0.usesOwnDomain = true
      }.hasPrefix("--custom-domain needs the domain")
    )
  }

  @Test(arguments: ["cn beijing", "cn/beijing", "x.evil.example", "\u{e9}"])
  func badRegionIsNamedWithWhoSaysIt(_ region: String) async {
    #expect(
      await failure { $0.region = region }.contains("(--region) can't be the name of a region")
    )
    #expect(await failure(["TOS_REGION": region]).contains("(TOS_REGION)"))
  }

  @Test func filesAreReadOnlyIfSomethingIsMissing() async throws {
    let broken = ["/h/.tos/config.toml": "not TOML", "/h/.volcengine/config.json": "not JSON"]
    _ = try await settings(files: broken) { $0.endpoint = "tos-cn-beijing.volces.com" }
    _ = try await settings(
      ["TOS_ENDPOINT": "http://127.0.0.1:1", "TOS_REGION": "x"],
      files: broken
    )
    #expect(await failure(files: broken) == "/h/.tos/config.toml, line 1: a \"=\" is missing")
    #expect(
      await failure(files: ["/h/.volcengine/config.json": "not JSON"])
        == "/h/.volcengine/config.json isn't the JSON of Volcengine's command line"
    )
  }

  @Test func fileThatAVariableNamesMustBeThere() async throws {
    let moved = ["TOS_CONFIG_PATH": "~/elsewhere.toml"]
    let found = try await settings(
      moved,
      files: ["/h/elsewhere.toml": "[default]\nregion = 'cn-z'"]
    )
    #expect(found.region == "cn-z")
    #expect(
      await failure(moved) == "TOS_CONFIG_PATH names /h/elsewhere.toml, and there is no such file"
    )
  }

  @Test(arguments: [
    "Data", "my_bucket", "my.bucket", "-x-", "ab", String(repeating: "a", count: 64),
  ])
  func bucketThatTOSCannotHaveIsRefused(_ bucket: String) async {
    let error = await #expect(throws: StoreError.self) {
      try await RemoteStore.configured(
        bucket: bucket,
        dialect: .tos,
        options: StoreOptions(),
        environment: ["TOS_REGION": "cn-beijing"],
        reader: MemoryFiles([:]),
        surroundings: RemoteStore.Surroundings(
          client: ScriptedClient(time: ManualTime()) { _, _ in .failure(.unreachable) }
        )
      )
    }
    #expect(error?.kind == .invalidRequest)
    #expect(error?.message.contains("can't be the name of a TOS bucket") == true)
  }

  @Test func endpointThatWasMadeOfTheRegionMovesWithIt() async throws {
    let made = try await settings { $0.region = "cn-beijing" }
    var session = StoreSession(settings: made, dialect: made.wireDialect(bucket: "data"))
    let hasMoved = session.learned(region: "cn-shanghai")
    #expect(hasMoved)
    #expect(session.region == "cn-shanghai")
    #expect(session.endpoint.host == "tos-cn-shanghai.volces.com")
    let isFooled = session.learned(region: "evil.example/")
    #expect(!isFooled)
    #expect(session.endpoint.host == "tos-cn-shanghai.volces.com")
    let given = try await settings { $0.endpoint = "tos-cn-beijing.volces.com" }
    var named = StoreSession(settings: given, dialect: given.wireDialect(bucket: "data"))
    _ = named.learned(region: "cn-shanghai")
    #expect(named.endpoint.host == "tos-cn-beijing.volces.com")
  }

  @Test func bucketIsTheSameFromInsideItsCloudAndFromOutside() async throws {
    func location(_ environment: [String: String]) async throws -> String {
      try await RemoteStore.configured(
        bucket: "data",
        dialect: .tos,
        options: StoreOptions(),
        environment: environment,
        reader: MemoryFiles([:]),
        surroundings: RemoteStore.Surroundings(
          client: ScriptedClient(time: ManualTime()) { _, _ in .failure(.unreachable) }
        )
      ).location
    }
    let outside = try await location(["TOS_REGION": "cn-beijing"])
    #expect(outside == "tos://data at tos-cn-beijing.volces.com")
    #expect(try await location(["TOS_ENDPOINT": "http://tos-cn-beijing.ivolces.com"]) == outside)
    #expect(try await location(["TOS_REGION": "cn-shanghai"]) != outside)
    #expect(
      try await location(["TOS_ENDPOINT": "http://127.0.0.1:9"])
        == "tos://data at http://127.0.0.1:9"
    )
  }
}
