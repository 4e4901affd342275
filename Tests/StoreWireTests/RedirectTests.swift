import Core
import Testing

@testable import StoreWire

@Suite struct RedirectTests {
  private func error(
    _ status: Int,
    _ fields: KeyValuePairs<String, String> = [:],
    body: String = ""
  ) throws -> StoreError {
    S3Answers.error(
      WireAnswer(status: status, fields: HeaderFields(fields), body: Array(body.utf8)),
      to: try S3Requests.headObject(ObjectKey("k"))
    )
  }

  private func document(_ code: String, _ extra: String = "") -> String {
    "<Error><Code>\(code)</Code><Message>m</Message>\(extra)</Error>"
  }

  @Test func onlyWhatSpeaksOfARegionIsARegion() throws {
    #expect(try error(301).kind == .wrongRegion)
    #expect(try error(307, ["x-amz-bucket-region": "r"]).kind == .wrongRegion)
    #expect(try error(307, body: document("TemporaryRedirect")).kind == .wrongRegion)
    #expect(try error(400, ["x-amz-bucket-region": "r"]).kind == .wrongRegion)
    #expect(try error(301, ["Location": "http://a.example/"]).kind == .invalidRequest)
    for status in [302, 303, 308] {
      #expect(try error(status, ["x-amz-bucket-region": "r"]).kind == .invalidRequest)
      #expect(try error(status, body: document("PermanentRedirect")).kind == .invalidRequest)
    }
  }

  @Test(
    arguments: [
      (301, "r1"), (307, "r1"), (302, nil), (308, nil), (400, nil), (403, nil),
    ] as [(Int, String?)]
  )
  func onlyARedirectOfS3sOwnKindHasARegionInItsHost(_ status: Int, _ region: String?) {
    let fields = HeaderFields(["Location": "https://b.s3.r1.amazonaws.com/k"])
    #expect(S3Answers.regionHint(WireAnswer(status: status, fields: fields)) == region)
  }

  @Test(
    arguments: [
      ("https://a.example/x", "https://a.example"), ("//a.example:80/x", "a.example:80"),
      ("http://user:pass@a.example?x", "http://a.example"), ("a.example", "a.example"),
      ("/x", nil), ("", nil), ("http://", nil), ("?", nil),
    ] as [(String, String?)]
  )
  func hostIsNamedWithoutTheRest(_ location: String, _ host: String?) throws {
    let answer = WireAnswer(status: 302, fields: HeaderFields(["Location": location]))
    #expect(S3Answers.redirectHost(answer, endpoint: nil) == host)
    let message = try error(302, ["Location": location]).message
    #expect(!message.contains("pass"))
    #expect(message.contains(host ?? "doesn't say where to"))
  }

  @Test(
    arguments: [
      ("b.s3.eu-west-1.amazonaws.com", "eu-west-1"), ("s3-eu-west-1.amazonaws.com", "eu-west-1"),
      ("https://b.s3.dualstack.ap-east-1.amazonaws.com", "ap-east-1"),
      ("http://b.c.s3.cn-north-1.amazonaws.com.cn:443", "cn-north-1"),
      ("b.s3.amazonaws.com", "us-east-1"), ("s3-external-1.amazonaws.com", "us-east-1"),
      ("b.s3.eu-west-1.amazonaws.com.evil.example", nil), ("amazonaws.com", nil),
      ("s3.eu-west-1.xamazonaws.com", nil),
      ("x.amazonaws.com.s3.r1.evil-example1", nil), ("ec2.eu-west-1.amazonaws.com", nil), ("", nil),
    ] as [(String, String?)]
  )
  func regionIsReadFromTheServicesOwnHostsOnly(_ host: String, _ region: String?) {
    #expect(S3Answers.awsRegion(ofHost: host) == region)
  }
}
