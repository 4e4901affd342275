import Testing

@testable import HTTP

@Suite struct OriginTests {
  @Test(arguments: [
    ("http://a", "a:80"), ("https://A.Example/x:9", "a.example:443"), ("HTTP://a:8080?x", "a:8080"),
    ("https://[::1]:9000/", "[::1]:9000"), ("http://[::1]", "[::1]:80"), ("http://a:/", "a:80"),
    ("http://10.0.0.1:1#f", "10.0.0.1:1"), ("http://a/b@c", "a:80"),
  ])
  func anOriginIsSchemeNameAndPort(_ url: String, _ expected: String) {
    #expect(Origin(url: url)?.description == expected)
    #expect(Origin(url: url)?.isSecure == url.hasPrefix("https"))
  }

  @Test func theSchemeTellsOriginsApart() {
    #expect(Origin(url: "http://a:443/") != Origin(url: "https://a/"))
    #expect(Origin(url: "http://a:80/x") == Origin(url: "http://A/y"))
  }
}
