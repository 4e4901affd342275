import StoreWire
import Testing

@Suite struct PercentEncodingTests {
  @Test func onlyTheUnreservedSetStandsForItself() {
    let kept = (UInt8.min...UInt8.max).filter { PercentEncoding.query([$0]).utf8.count == 1 }
    let unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
    #expect(kept == unreserved.utf8.sorted())
    #expect(PercentEncoding.path([0x2F, 0x2F, 0x2B, 0x20, 0x25]) == "//%2B%20%25")
    #expect(PercentEncoding.query("a/b+c d") == "a%2Fb%2Bc%20d")
    #expect(PercentEncoding.query([0xC3, 0xA9, 0xFF, 0x00]) == "%C3%A9%FF%00")
  }

  @Test func allBytesSurviveBothSpellings() {
    let bytes = Array(UInt8.min...UInt8.max)
    #expect(PercentEncoding.decode(PercentEncoding.path(bytes).utf8) == bytes)
    #expect(PercentEncoding.decodeForm(PercentEncoding.query(bytes).utf8) == bytes)
  }

  @Test func aPlusSignIsASpaceInFormsOnly() {
    #expect(PercentEncoding.decodeForm("a+b%2Bc%2fd".utf8) == Array("a b+c/d".utf8))
    #expect(PercentEncoding.decode("a+b%2Bc".utf8) == Array("a+b+c".utf8))
  }

  @Test(arguments: ["%", "%2", "a%", "%G0", "%0G", "%%20", "50%!"])
  func aPercentSignThatEncodesNothingIsRefused(_ text: String) {
    #expect(PercentEncoding.decode(text.utf8) == nil)
    #expect(PercentEncoding.decodeForm(text.utf8) == nil)
  }
}
