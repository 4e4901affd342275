import Dipper
import Testing

@Suite struct BucketCredentialsTests {
  @Test func noDescriptionHasTheSecret() {
    let credentials = BucketCredentials(
      accessKey: "AKPUBLIC",
      secretKey: "very secret",
      securityToken: "token as well"
    )
    var options = BucketOptions()
    options.credentials = credentials
    var dumped = ""
    dump(options, to: &dumped)
    for text in ["\(credentials)", "\(options)", dumped, String(reflecting: credentials)] {
      #expect(text.contains("AKPUBLIC") && !text.contains("secret") && !text.contains("token as"))
    }
  }

  @Test func anAddressThatIsNoneIsInvalid() async {
    for text in ["", "bucket", "ftp://bucket", "s3://", "file://relative"] {
      let error = await #expect(throws: DipperError.self) { try await Bucket.open(text) }
      #expect(error?.kind == .invalid, "\(text)")
    }
  }
}
