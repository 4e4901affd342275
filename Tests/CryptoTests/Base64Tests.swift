import Crypto
import Testing

@Suite struct Base64Tests {
  // Source: RFC 4648 section 10.
  @Test(arguments: [
    ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
    ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
  ])
  func textsHaveTheirPublishedSpelling(_ text: String, _ spelling: String) {
    #expect(Base64.encode(Array(text.utf8)) == spelling)
    #expect(Base64.decode(spelling) == Array(text.utf8))
  }

  @Test func allBytesSurvive() {
    let bytes = Array(UInt8.min...UInt8.max)
    #expect(Base64.decode(Base64.encode(bytes)) == bytes)
    #expect(Base64.encode([0xFB, 0xFF, 0xFE]) == "+//+")
  }

  @Test(arguments: [
    "Z", "Zg", "Zg=", "Zh==", "Zm9=", "Z===", "====", "Zm9v!A==", "Zg==Zg==", "Z=g=",
  ])
  func whatIsNoBase64IsRefused(_ text: String) {
    #expect(Base64.decode(text) == nil)
  }

  @Test func hexadecimalIsLowerCase() {
    #expect([0x00, 0x0F, 0xA5, 0xFF].hexadecimal == "000fa5ff")
    #expect([UInt8]().hexadecimal == "")
  }
}
