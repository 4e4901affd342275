import Core
import StoreWire
import Testing

@Suite struct EndpointTests {
  private func url(_ endpoint: String, bucket: String, key: String) throws -> String {
    let request = try S3Requests.headObject(ObjectKey(key))
    return try Endpoint(endpoint).target(of: request, bucket: bucket).url
  }

  @Test(arguments: [
    ("http://127.0.0.1:9000", "http://127.0.0.1:9000/bucket/a/b"),
    ("http://localhost:80", "http://localhost/bucket/a/b"),
    ("http://[::1]:9000/", "http://[::1]:9000/bucket/a/b"),
    ("https://[2001:DB8::1]", "https://[2001:db8::1]/bucket/a/b"),
    ("http://minio:9000", "http://minio:9000/bucket/a/b"),
    ("https://s3.example.org:443", "https://bucket.s3.example.org/a/b"),
    ("S3.Example.org", "https://bucket.s3.example.org/a/b"),
    ("HTTPS://s3.example.org:8443", "https://bucket.s3.example.org:8443/a/b"),
    ("https://x.example.org/storage/v1/s3/", "https://bucket.x.example.org/storage/v1/s3/a/b"),
    ("http://127.0.0.1/base", "http://127.0.0.1/base/bucket/a/b"),
  ])
  func objectsHaveTheirURL(_ endpoint: String, _ expected: String) throws {
    #expect(try url(endpoint, bucket: "bucket", key: "a/b") == expected)
  }

  @Test func addressingCanBeChosen() throws {
    let request = S3Requests.headBucket()
    let path = try Endpoint("https://s3.example.org", addressing: .path)
    #expect(path.target(of: request, bucket: "b1x").url == "https://s3.example.org/b1x/")
    let host = try Endpoint("http://127.0.0.1:9", addressing: .virtualHost)
    #expect(host.target(of: request, bucket: "b1x").url == "http://b1x.127.0.0.1:9/")
    #expect(host.target(of: request, bucket: "b1x").authority == "b1x.127.0.0.1:9")
  }

  @Test func aDomainOfTheBucketsOwnHasItsNameNowhere() throws {
    let own = try Endpoint("https://data.example.org", addressing: .ownDomain)
    let request = try S3Requests.headObject(ObjectKey("a/b"))
    #expect(own.target(of: request, bucket: "bucket").url == "https://data.example.org/a/b")
    #expect(own.target(of: request, bucket: "My_Bucket").authority == "data.example.org")
  }

  @Test func aBucketThatIsNoHostNameGoesIntoThePath() throws {
    #expect(
      try url("https://s3.example.org", bucket: "my.bucket", key: "k")
        == "https://s3.example.org/my.bucket/k"
    )
    #expect(
      try url("http://s3.example.org", bucket: "my.bucket", key: "k")
        == "http://my.bucket.s3.example.org/k"
    )
    #expect(
      try url("https://s3.example.org", bucket: "My_Bucket", key: "k")
        == "https://s3.example.org/My_Bucket/k"
    )
  }

  @Test func oddKeysKeepTheirBytes() throws {
    #expect(
      try url("http://127.0.0.1", bucket: "b", key: "/a//./../b c+d%20?#é")
        == "http://127.0.0.1/b//a//./../b%20c%2Bd%2520%3F%23%C3%A9"
    )
    let bytes = try S3Requests.headObject(ObjectKey([0xFF, 0x0A, 0x2F]))
    #expect(bytes.path == "/%FF%0A/")
  }

  @Test func theDefaultOfAWSComesFromTheRegion() throws {
    #expect(
      try Endpoint.aws(region: "eu-west-1").description == "https://s3.eu-west-1.amazonaws.com"
    )
    #expect(try Endpoint.aws(region: "eu-west-1").addressing == .virtualHost)
    #expect(
      try Endpoint.aws(region: "cn-north-1").description
        == "https://s3.cn-north-1.amazonaws.com.cn"
    )
    for region in ["", "a.b", "EU", "x/y", "a b"] {
      #expect(throws: EndpointError.self) { try Endpoint.aws(region: region) }
    }
  }

  @Test(arguments: [
    ("", "no host"), ("http://", "no host"), ("ftp://x", "neither http nor https"),
    ("http://u:p@x", "user name"), ("http://x?a", "query"), ("http://x#a", "fragment"),
    ("http://x:0", "port"), ("http://x:65536", "port"), ("http://x:", "port"),
    ("http://x:+80", "port"), ("http://::1", "brackets"), ("http://[::1", "\"[\""),
    ("http://[x]", "IPv6"), ("http://[::1]x", "behind"), ("http://a b", "valid host"),
    ("http://é.org", "valid host"), ("http://.x", "valid host"), ("http://x/a b", "path"),
    ("http://x\n", "valid host"),
  ])
  func whatIsNoEndpointIsRefusedWithItsReason(_ text: String, _ reason: String) throws {
    let error = #expect(throws: EndpointError.self) { try Endpoint(text) }
    let description = try #require(error).description
    #expect(description.contains(reason))
    #expect(!description.contains("\n"))
    #expect(!description.contains("u:p"))
  }

  @Test func namesOfBucketsAreChecked() {
    for name in ["abc", "a-b", "a.b.c", "123", String(repeating: "a", count: 63)] {
      #expect(BucketName.isValid(name), "\(name)")
    }
    for name in [
      "ab", "A-b", "-ab", "ab-", "a..b", ".abc", "abc.", "a-.b", "a_b", "1.2.3.4",
      String(repeating: "a", count: 64), "a/b", "bücket",
    ] {
      #expect(!BucketName.isValid(name), "\(name)")
    }
    #expect(BucketName.isUsable("Old_Bucket"))
    for name in ["", ".", "..", "a/b", "a b", "a\n", "a\\b"] {
      #expect(!BucketName.isUsable(name), "\(name)")
    }
  }
}
