import StoreWire
import Testing

@Suite struct TOSHostTests {
  @Test(
    arguments: [
      ("tos-cn-beijing.volces.com", TOSHost.Service.native, "cn-beijing", "volces.com", nil),
      ("tos-cn-beijing.ivolces.com", .native, "cn-beijing", "ivolces.com", nil),
      ("tos-ap-southeast-1.bytepluses.com", .native, "ap-southeast-1", "bytepluses.com", nil),
      ("tos-s3-cn-beijing.volces.com", .s3, "cn-beijing", "volces.com", nil),
      ("tos-control-cn-beijing.volces.com", .control, "cn-beijing", "volces.com", nil),
      ("data.tos-cn-beijing.volces.com", .native, "cn-beijing", "volces.com", "data"),
      ("tos-data.tos-cn-beijing.volces.com", .native, "cn-beijing", "volces.com", "tos-data"),
      ("data.tos-s3-cn-shanghai.ivolces.com", .s3, "cn-shanghai", "ivolces.com", "data"),
      ("tos-lab.example.org", .native, "lab", "example.org", nil),
    ] as [(String, TOSHost.Service, String, String, String?)]
  )
  func hostSaysServiceRegionAndBucket(
    _ text: String,
    _ service: TOSHost.Service,
    _ region: String,
    _ domain: String,
    _ bucket: String?
  ) throws {
    let host = try #require(TOSHost(text))
    #expect(host.service == service)
    #expect(host.region == region)
    #expect(host.domain == domain)
    #expect(host.bucket == bucket)
    #expect(host.description == text)
  }

  @Test(arguments: [
    "127.0.0.1", "localhost", "::1", "volces.com", "tos-cn-beijing", "tos-.volces.com",
    "data.example.org", "data.tos-lab.example.org", "a.b.tos-cn-beijing.volces.com",
    "s3.eu-west-1.amazonaws.com", "tos-x.y",
  ])
  func otherHostsSayNothing(_ text: String) {
    #expect(TOSHost(text) == nil)
  }

  @Test func hostsAreMadeOfARegion() throws {
    #expect(TOSHost.volcengine(region: "cn-hongkong").description == "tos-cn-hongkong.volces.com")
    let inside = try #require(TOSHost("b.tos-s3-ap-southeast-1.ibytepluses.com"))
    #expect(inside.native().description == "tos-ap-southeast-1.ibytepluses.com")
    #expect(
      inside.publicHost(in: "ap-southeast-3").description == "tos-ap-southeast-3.bytepluses.com"
    )
    let lab = try #require(TOSHost("tos-lab.internal.org"))
    #expect(lab.publicHost(in: "x").description == "tos-x.internal.org")
  }
}
