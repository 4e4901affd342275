import Testing

@testable import StoreClient

@Suite struct RedactionTests {
  @Test(arguments: [
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "AKIAIOSFODNN7EXAMPLE",
    "password=hunter2", "the token: hunter2", "{\"SecretAccessKey\":\"hunter2\"}",
    "Authorization: Bearer hunter2", "--secret hunter2",
    "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJlc2lnbmF0dXJl",
  ])
  func whatMayBeASecretIsHidden(_ text: String) {
    for context in [text, "a \(text) b", "a\n'\(text)'"] {
      let shown = Redaction.redacted(context)
      #expect(shown.contains("***"))
      for part in ["hunter2", "wJalr", "AKIA", "eyJ", "c2lnb"] { #expect(!shown.contains(part)) }
    }
  }

  @Test func ordinaryWordsAreKept() {
    let text = "error: no session for user-x in eu-west-1; run `tool login` (code 12)"
    #expect(Redaction.redacted(text) == text)
  }

  @Test func whatIsShownIsOneShortLine() {
    let shown = Redaction.redacted("a\u{1B}[2J\r\n" + String(repeating: "b ", count: 10_000))
    #expect(shown.utf8.count <= 400)
    #expect(!shown.contains("\n") && !shown.contains("\u{1B}"))
  }
}
