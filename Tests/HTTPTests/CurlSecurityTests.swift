import Core
import Glibc
import HTTP
import Simulation
import Testing

/// Certificates and proxies.
@Suite struct CurlSecurityTests {
  private func client(authorities: String? = nil) throws -> CurlClient {
    var configuration = CurlClient.Configuration()
    configuration.certificateAuthorityFile = authorities
    return try CurlClient(configuration)
  }

  @Test func anUnknownCertificateIsUntrusted() async throws {
    let weather = try await WeatherServer.shared
    let error = await (try client()).failure(of: .get(weather.secureURL("/bytes")))
    #expect(error?.kind == .untrusted)
    #expect(error?.message.hasPrefix("127.0.0.1:\(weather.securePort): SSL") == true)
  }

  @Test func aCertificateOfTheGivenAuthorityIsTrusted() async throws {
    let weather = try await WeatherServer.shared
    let client = try client(authorities: weather.certificate)
    for _ in 0..<2 {
      let (_, body) = try await client.get(weather.secureURL("/bytes?size=300000"))
      #expect(body.size == 300_000 && body.isPattern)
    }
    // Its connection is used again over TLS as well.
    let (head, _) = try await client.get(weather.secureURL("/bytes?size=1"))
    #expect(head.fields["X-Request"] == "3")
  }

  @Test func aCertificateForAnotherNameIsUntrusted() async throws {
    let weather = try await WeatherServer.shared
    let client = try client(authorities: weather.certificate)
    let url = "https://localhost:\(weather.securePort)/bytes"
    #expect(await client.failure(of: .get(url))?.kind == .untrusted)
  }

  @Test func aMissingAuthorityFileIsUntrusted() async throws {
    let weather = try await WeatherServer.shared
    let client = try client(authorities: "/nowhere/ca.pem")
    let error = await client.failure(of: .get(weather.secureURL("/bytes")))
    #expect(error?.kind == .untrusted)
    #expect(error?.message.contains("/nowhere/ca.pem") == true)
  }

  @Test func aServerWithoutTLSIsUnreachableOverHTTPS() async throws {
    let weather = try await WeatherServer.shared
    let error = await (try client()).failure(of: .get("https://127.0.0.1:\(weather.port)/"))
    #expect(error?.kind == .unreachable)
    #expect(
      error?.message == "127.0.0.1:\(weather.port): what answers there doesn't speak TLS; "
        + "try http:// instead of https://"
    )
  }

  // The environment belongs to the whole process, so these tests have one of their own.

  @Test func theProxyOfTheEnvironmentIsUsed() async {
    await #expect(processExitsWith: .success) {
      let weather = try await WeatherServer.start()
      setenv("http_proxy", weather.url(""), 1)
      setenv("no_proxy", "127.0.0.1", 1)
      let client = try CurlClient()
      let (_, body) = try await client.get("http://store.invalid/a/../b?c")
      #expect(body.text == "proxied GET http://store.invalid/a/../b?c")
      // NO_PROXY names this one.
      #expect(try await client.get(weather.url("/bytes?size=10")).body.isPattern)
    }
  }

  @Test func aProxyTunnelsTLSWithoutSeeingIt() async {
    await #expect(processExitsWith: .success) {
      let weather = try await WeatherServer.start()
      setenv("HTTPS_PROXY", weather.url(""), 1)
      var configuration = CurlClient.Configuration()
      configuration.certificateAuthorityFile = weather.certificate
      let client = try CurlClient(configuration)
      let url = "https://store.invalid:\(weather.securePort)/bytes?size=300000"
      let (head, body) = try await client.get(url)
      // The proxy's own head is not the answer's.
      #expect(head.fields["X-Proxy"] == nil && body.heads.count == 1)
      #expect(body.size == 300_000 && body.isPattern)
      try await weather.reported("tunnel store.invalid:\(weather.securePort)")
      let denied = HTTPRequest.get("https://denied.invalid:\(weather.securePort)/")
      let receiver = Collector()
      #expect(await client.failure(of: denied, receiver: receiver)?.kind == .unreachable)
      #expect(receiver.heads.isEmpty)
    }
  }
}
