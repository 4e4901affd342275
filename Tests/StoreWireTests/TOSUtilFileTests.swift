import StoreWire
import Testing

@Suite struct TOSUtilFileTests {
  @Test func pairsAreReadAndAllElseIsReadOver() {
    let text =
      "# ak=COMMENT\r\n[section]\r\nAK = AKLTx=y \r\nsk=s+/=\r\n\r\ntoken=\r\nno pair\r\n=x\r\nendpoint=a=b\r\n"
    #expect(
      TOSUtilFile(parsing: Array(text.utf8)).values
        == ["ak": "AKLTx=y", "sk": "s+/=", "endpoint": "a=b"]
    )
  }
}
