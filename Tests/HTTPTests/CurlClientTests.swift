import Core
import HTTP
import Simulation
import Testing

@Suite struct CurlClientTests {
  let weather: WeatherServer
  let client: CurlClient

  init() async throws {
    weather = try await .shared
    client = try CurlClient()
  }

  @Test func aBodyArrivesWhole() async throws {
    let (head, body) = try await client.get(weather.url("/bytes?size=100000"))
    #expect(head.status == 200)
    #expect(head.fields["etag"] == "\"weather\"")
    #expect(body.size == 100_000)
    #expect(body.isPattern && body.isInOrder)
    #expect(body.heads == [head])
  }
}
