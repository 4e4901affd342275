import Core
import Testing

@testable import Crypto
@testable import StoreWire

@Suite struct SignerTests {
  private static let s3 = Signer(dialect: .s3, region: "cn-beijing")
  private static let tos = Signer(dialect: .tos, region: "cn-beijing")

  @Test(arguments: try SignatureVector.all(in: "aws-vectors.json"))
  func signsLikeTheVendorOfS3(_ vector: SignatureVector) throws {
    try check(vector, Self.s3)
  }

  @Test(
    arguments: try SignatureVector.all(in: "tos-vectors.json").filter {
      !$0.name.contains("presigned")
    }
  )
  func signsLikeTheVendorOfTOS(_ vector: SignatureVector) throws {
    try check(vector, Self.tos)
  }

  private func check(_ vector: SignatureVector, _ signer: Signer) throws {
    let (request, target) = try vector.request()
    let time = SignatureVector.time
    let signature = signer.signature(
      of: request,
      to: target,
      credentials: vector.credentials,
      at: time
    )
    #expect(signature.canonicalRequest == vector.canonical)
    #expect(signature.stringToSign == vector.sts)
    #expect(signature.hexadecimal == vector.signature)
    let fields = signer.fields(
      of: request,
      to: target,
      credentials: vector.credentials,
      at: time
    )
    if let authorization = vector.headers["Authorization"] {
      #expect(fields["Authorization"] == authorization)
    }
    #expect(fields["Host"] == nil)
  }

  @Test func bothFixturesAreWhole() throws {
    #expect(try SignatureVector.all(in: "aws-vectors.json").count == 8)
    #expect(try SignatureVector.all(in: "tos-vectors.json").count == 13)
  }

  @Test func presignsLikeTheVendorOfTOS() throws {
    let vectors = try SignatureVector.all(in: "tos-vectors.json")
    let vector = try #require(vectors.first { $0.name.contains("presigned") })
    let (request, target) = try vector.request()
    let (_, signature) = Self.tos.presignature(
      of: request,
      to: target,
      credentials: vector.credentials,
      at: SignatureVector.time,
      lifetime: .seconds(3600)
    )
    #expect(signature.canonicalRequest == vector.canonical)
    #expect(signature.stringToSign == vector.sts)
    #expect(signature.hexadecimal == vector.signature)
    let url = Self.tos.presignedURL(
      of: request,
      to: target,
      credentials: vector.credentials,
      at: SignatureVector.time,
      lifetime: .seconds(3600)
    )
    #expect(url == vector.url)
  }

  // The check value of the key derivation, computed by independent means.
  @Test func derivesThePublishedSigningKey() {
    let key = Self.tos.signingKey(secret: "SKTESTEXAMPLE", at: SignatureVector.time)
    #expect(
      key.hexadecimal == "70a191c5dd5adad3bee60ea7627e0a2dbaac6d00fae32c1fdaaef783f4285639"
    )
  }

  // Source: Amazon S3 API Reference, "Authenticating requests: using query parameters".
  @Test func presignsThePublishedExampleOfS3() throws {
    let signer = Signer(dialect: .s3, region: "us-east-1")
    let endpoint = try Endpoint("https://s3.amazonaws.com")
    let request = WireRequest(.getObject, .get, key: ObjectKey("test.txt"))
    let url = signer.presignedURL(
      of: request,
      to: endpoint.target(of: request, bucket: "examplebucket"),
      credentials: Credentials(
        accessKey: "AKIAIOSFODNN7EXAMPLE",
        secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
      ),
      at: CalendarTime(year: 2013, month: 5, day: 24, hour: 0, minute: 0, second: 0).timestamp,
      lifetime: .seconds(86_400)
    )
    #expect(
      url.hasSuffix(
        "X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
      )
    )
  }

  /// The answers that an independent signer of TOS publishes.
  @Suite struct PublishedAnswers {
    private let credentials = Credentials(accessKey: "testAK", secretKey: "testSK")

    private func time(_ year: Int, _ month: Int, _ day: Int, _ clock: (Int, Int, Int)) -> Timestamp
    {
      CalendarTime(
        year: year,
        month: month,
        day: day,
        hour: clock.0,
        minute: clock.1,
        second: clock.2
      ).timestamp
    }

    @Test func ofAnObject() throws {
      let endpoint = try Endpoint("https://tos-cn-beijing.volces.com")
      let request = WireRequest(.getObject, .get, key: ObjectKey("exampleobject"))
      let signature = SignerTests.tos.signature(
        of: request,
        to: endpoint.target(of: request, bucket: "examplebucket"),
        credentials: credentials,
        at: time(2022, 1, 1, (0, 0, 0))
      )
      #expect(signature.signedHeaders == "host;x-tos-content-sha256;x-tos-date")
      #expect(
        signature.hexadecimal
          == "d40b66cf0054d1642843670d10fa095e1609c7896f25df217770b0abe717693b"
      )
    }

    @Test func ofAListing() throws {
      let endpoint = try Endpoint("https://tos-cn-beijing.volces.com")
      var request = WireRequest(
        .listObjects,
        .get,
        query: [
          WireRequest.QueryItem("list-type", "2"), WireRequest.QueryItem("prefix", "abc"),
          WireRequest.QueryItem("delimiter", "/"), WireRequest.QueryItem("max-keys", "5"),
          WireRequest.QueryItem(
            "continuation-token",
            "whvFnl2rE5vm9cWvQSgxwpc7QXHY7dgUGQ7nxlsVxFymg2+K227j5IHQZ32h"
          ),
        ]
      )
      request.bodyHash = .undeclared
      let signature = SignerTests.tos.signature(
        of: request,
        to: endpoint.target(of: request, bucket: "bucket"),
        credentials: credentials,
        at: time(2026, 2, 3, (12, 24, 12))
      )
      #expect(signature.signedHeaders == "host;x-tos-date")
      #expect(
        signature.hexadecimal
          == "db01ee877fa24847ec042703353a76a0e11bd9b6ce68eabe5ccb2924420156b0"
      )
    }

    @Test func ofAPresignedURL() throws {
      let endpoint = try Endpoint("https://tos-ap-southeast-1.bytepluses.com")
      let request = WireRequest(.getObject, .get, key: ObjectKey("exampleobject"))
      let signer = Signer(dialect: .tos, region: "ap-southeast-1")
      let (_, signature) = signer.presignature(
        of: request,
        to: endpoint.target(of: request, bucket: "examplebucket"),
        credentials: credentials,
        at: time(2022, 1, 1, (0, 0, 0)),
        lifetime: .seconds(86_400)
      )
      #expect(
        signature.hexadecimal
          == "d235179a42db6eefabd0c312a8f7e33c03a939ac2deb6e7c0ac4058117fc882b"
      )
    }

    @Test func ofAPresignedURLWithAToken() throws {
      let endpoint = try Endpoint("https://tos-cn-beijing.volces.com")
      let request = WireRequest(.getObject, .get, key: ObjectKey("object"))
      let (_, signature) = SignerTests.tos.presignature(
        of: request,
        to: endpoint.target(of: request, bucket: "examplebucket"),
        credentials: Credentials(
          accessKey: "testAK",
          secretKey: "testSK",
          sessionToken: "session/token"
        ),
        at: time(2022, 1, 1, (0, 0, 0)),
        lifetime: .seconds(3600)
      )
      #expect(
        signature.hexadecimal
          == "7346fb25f8454f6b4c0531038ae3d8e1ba74e6bffa95513812ea1ebaec601ba2"
      )
    }
  }

  @Test func aRepeatedFieldIsJoinedAndRunsOfSpacesCollapse() {
    var fields = HeaderFields()
    fields.append("X-Amz-Meta-A", "  one   two ")
    fields.append("x-amz-meta-a", "three")
    let headers = CanonicalHeaders(fields: fields, authority: "h", covers: { _ in true })
    #expect(headers.block == "host:h\nx-amz-meta-a:one two,three\n")
    #expect(headers.names == "host;x-amz-meta-a")
  }

  @Test func whatProxiesChangeIsNotCovered() throws {
    var request = WireRequest(.getObject, .get, key: ObjectKey("k"))
    request.fields = HeaderFields(
      ["User-Agent": "x", "Expect": "100-continue", "Content-Length": "5"]
    )
    let signature = Self.s3.signature(
      of: request,
      to: try Endpoint("http://localhost").target(of: request, bucket: "b"),
      credentials: Credentials(accessKey: "a", secretKey: "s"),
      at: SignatureVector.time
    )
    #expect(signature.signedHeaders == "host;x-amz-content-sha256;x-amz-date")
  }

  @Test func aLifetimeIsBroughtIntoBounds() throws {
    let request = WireRequest(.getObject, .get, key: ObjectKey("k"))
    for (lifetime, text) in [
      (Duration.zero, "X-Amz-Expires=1"), (.seconds(1_000_000), "X-Amz-Expires=604800"),
    ] {
      let url = Self.s3.presignedURL(
        of: request,
        to: try Endpoint("http://localhost").target(of: request, bucket: "b"),
        credentials: Credentials(accessKey: "a", secretKey: "s"),
        at: SignatureVector.time,
        lifetime: lifetime
      )
      #expect(url.contains(text + "&"))
    }
  }
}
