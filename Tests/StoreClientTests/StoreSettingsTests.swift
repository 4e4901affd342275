import StoreClient
import StoreWire
import Testing

@Suite struct StoreSettingsTests {
  private static let config = """
    [default]
    region = eu-north-1
    [profile custom]
    endpoint_url = https://profile.example
    [profile service]
    endpoint_url = https://profile.example
    services = mine
    [services mine]
    s3 =
      endpoint_url = http://127.0.0.1:9000
    """

  private func settings(
    _ environment: [String: String] = [:],
    profile: String? = nil,
    change: (inout StoreOptions) -> Void = { _ in }
  ) async throws -> StoreSettings {
    var options = StoreOptions()
    change(&options)
    let files = ConfigurationFiles(
      environment: ["HOME": "/h"],
      reader: MemoryFiles(["/h/.aws/config": Self.config])
    )
    return try StoreSettings(
      options: options,
      environment: environment,
      profile: try await files.profile(named: profile)
    )
  }

  @Test func regionComesFromTheFirstPlaceThatSays() async throws {
    let both = ["AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "eu-west-2"]
    #expect(try await settings(both) { $0.region = "ap-south-1" }.region == "ap-south-1")
    #expect(try await settings(both).region == "eu-west-1")
    #expect(try await settings(["AWS_DEFAULT_REGION": "eu-west-2"]).region == "eu-west-2")
    #expect(try await settings().region == "eu-north-1")
    #expect(try await settings(profile: "custom").region == "us-east-1")
  }

  @Test func endpointComesFromTheFirstPlaceThatSays() async throws {
    let both = [
      "AWS_ENDPOINT_URL_S3": "https://one.example", "AWS_ENDPOINT_URL": "https://two.example",
    ]
    let given = try await settings(both) { $0.endpoint = "https://zero.example" }
    #expect(given.endpoint.host == "zero.example")
    #expect(try await settings(both).endpoint.host == "one.example")
    #expect(
      try await settings(["AWS_ENDPOINT_URL": "https://two.example"]).endpoint.host
        == "two.example"
    )
    #expect(try await settings(profile: "custom").endpoint.host == "profile.example")
    let service = try await settings(profile: "service")
    #expect(service.endpoint.host == "127.0.0.1")
    #expect(service.endpoint.addressing == .path)
    let derived = try await settings()
    #expect(derived.endpoint.host == "s3.eu-north-1.amazonaws.com")
    #expect(derived.isEndpointOfRegion)
    #expect(!given.isEndpointOfRegion)
  }

  @Test func endpointsOfTheEnvironmentCanBeIgnored() async throws {
    let found = try await settings([
      "AWS_ENDPOINT_URL": "https://two.example", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true",
    ])
    #expect(found.endpoint.host == "s3.eu-north-1.amazonaws.com")
  }

  @Test func pathStyleCanBeForced() async throws {
    #expect(try await settings { $0.usesPathStyle = true }.endpoint.addressing == .path)
    let hosted = try await settings {
      $0.endpoint = "http://localhost:9000"
      $0.usesPathStyle = false
    }
    #expect(hosted.endpoint.addressing == .virtualHost)
  }

  @Test(arguments: ["ftp://x", "", "http://", "http://user:secret@host", "http://h:99999"])
  func badEndpointIsOneSentence(_ endpoint: String) async throws {
    guard !endpoint.isEmpty else { return }
    await #expect(throws: ConfigurationError.self) {
      try await settings { $0.endpoint = endpoint }
    }
  }

  @Test(arguments: ["eu west", "eu/west", "x.evil.example", "é"])
  func badRegionIsOneSentence(_ region: String) async {
    await #expect(throws: ConfigurationError.self) {
      try await settings { $0.region = region }
    }
  }
}
