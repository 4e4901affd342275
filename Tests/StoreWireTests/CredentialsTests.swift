import Core
import StoreWire
import Testing

@Suite struct CredentialsTests {
  private let credentials = Credentials(
    accessKey: "AKEXAMPLE",
    secretKey: "hunter2",
    sessionToken: "token-secret",
    expiry: Timestamp(seconds: 1000)
  )

  @Test func nothingThatPrintsThemShowsTheSecret() {
    var dumped = ""
    dump(credentials, to: &dumped)
    var nested = ""
    dump(["key": Optional(credentials)], to: &nested)
    for text in [
      "\(credentials)", String(reflecting: credentials), String(describing: [credentials]),
      String(reflecting: Optional(credentials)), dumped, nested,
    ] {
      #expect(!text.contains("hunter2"))
      #expect(!text.contains("token-secret"))
      #expect(text.contains("AKEXAMPLE"))
    }
  }

  @Test func theyExpireWithinAMargin() {
    #expect(!credentials.expires(within: .seconds(99), of: Timestamp(seconds: 900)))
    #expect(credentials.expires(within: .seconds(100), of: Timestamp(seconds: 900)))
    #expect(credentials.expires(within: .seconds(Int64.max), of: Timestamp(seconds: 900)))
    let lasting = Credentials(accessKey: "a", secretKey: "b")
    #expect(!lasting.expires(within: .seconds(Int64.max), of: Timestamp(seconds: 900)))
  }
}
