import Core
import Testing

@testable import StoreWire

@Suite struct STSAnswersTests {
  private func read(_ status: Int, _ text: String) throws(STSError) -> Credentials {
    try STSAnswers.credentials(WireAnswer(status: status, body: Array(text.utf8)))
  }

  private let whole = """
    <?xml version="1.0"?><R xmlns="x"><Result><Credentials><AccessKeyId>A</AccessKeyId>
    <SecretAccessKey>S/+=</SecretAccessKey><SessionToken>T</SessionToken>
    <Expiration>2026-11-30T09:30:00Z</Expiration></Credentials>
    <AssumedRoleUser><Arn>a</Arn></AssumedRoleUser></Result><ResponseMetadata/></R>
    """

  @Test func credentialsAreFoundBelowTheResult() throws {
    let keys = try read(200, whole)
    #expect(keys.accessKey == "A")
    #expect(keys.secretKey == "S/+=")
    #expect(keys.sessionToken == "T")
    #expect(keys.expiry?.iso8601 == "2026-11-30T09:30:00Z")
  }

  @Test func answerCutAnywhereIsAnError() {
    for count in 0..<whole.utf8.count - 4 {
      #expect(throws: STSError.self) { try read(200, String(whole.prefix(count))) }
    }
  }

  @Test(arguments: [("T", "a b"), ("A", "x&#10;y"), ("S/+=", ""), ("2026-11-30T", "later")])
  func whatCanNotBeSentIsRefused(_ value: String, _ other: String) {
    let text = whole.replacing(">\(value)", with: ">\(other)")
    #expect(text != whole)
    #expect(throws: STSError.self) { try read(200, text) }
  }

  @Test func elementsFurtherOutOrInAreNotTakenForOnes() {
    let outer = whole.replacing("<Result>", with: "").replacing("</Result>", with: "")
    #expect(throws: STSError.self) { try read(200, outer) }
  }

  @Test func formIsEncoded() {
    let body = STSRequests.assumeRole(arn: "a:b/c", sessionName: "x y&z", token: "t+/=")
    #expect(
      String(decoding: body, as: UTF8.self)
        == "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=a%3Ab%2Fc"
        + "&RoleSessionName=x%20y%26z&WebIdentityToken=t%2B%2F%3D"
    )
  }
}
