internal import Core

extension Endpoint {
  /// Reads an endpoint such as `http://127.0.0.1:9000`, `https://[::1]` or `https://s3.example.org`.
  ///
  /// A text without a scheme is https. Unless `addressing` says otherwise, buckets are named in
  /// the path for IP addresses, for localhost and for hosts without a dot, else in the host.
  ///
  /// - Throws: with a sentence that quotes the text and says what is wrong with it.
  package init(_ text: String, addressing: Addressing? = nil) throws(EndpointError) {
    let quoted = "\"\(text.utf8.printable)\""
    var rest = text[...]
    var scheme = Scheme.https
    if let separator = text.firstRange(of: "://") {
      guard let given = Scheme(rawValue: text[..<separator.lowerBound].lowercased()) else {
        throw EndpointError("the endpoint \(quoted) is neither http nor https")
      }
      scheme = given
      rest = text[separator.upperBound...]
    }
    guard !rest.contains(where: { $0 == "?" || $0 == "#" }) else {
      throw EndpointError("the endpoint \(quoted) must not have a query or a fragment")
    }
    let pathStart = rest.firstIndex(of: "/") ?? rest.endIndex
    let authority = rest[..<pathStart]
    guard !authority.contains("@") else {
      throw EndpointError("an endpoint must not contain a user name or a password")
    }
    let (host, portText) = try Self.splitAuthority(authority, quoted: quoted)
    var path = rest[pathStart...]
    while path.last == "/" { path.removeLast() }
    guard path.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw EndpointError("the path of the endpoint \(quoted) must be percent-encoded")
    }
    self.init(
      scheme: scheme,
      host: host,
      port: try portText.map { (text) throws(EndpointError) in
        try Self.port(text, quoted: quoted)
      },
      basePath: String(path),
      addressing: addressing ?? .virtualHost
    )
    if addressing == nil, isOfNoDomain { self.addressing = .path }
  }

  private static func splitAuthority(
    _ authority: Substring,
    quoted: String
  ) throws(EndpointError) -> (host: String, port: Substring?) {
    if authority.first == "[" {
      guard let end = authority.firstIndex(of: "]") else {
        throw EndpointError("the endpoint \(quoted) has a \"[\" without a \"]\"")
      }
      let host = authority[authority.index(after: authority.startIndex)..<end]
      guard host.contains(":"), host.utf8.allSatisfy({ $0.isIPv6Character }) else {
        throw EndpointError("the endpoint \(quoted) has no IPv6 address in its brackets")
      }
      let rest = authority[authority.index(after: end)...]
      guard rest.isEmpty || rest.first == ":" else {
        throw EndpointError("the endpoint \(quoted) has something behind its \"]\"")
      }
      return (host.lowercased(), rest.isEmpty ? nil : rest.dropFirst())
    }
    let pieces = authority.split(separator: ":", omittingEmptySubsequences: false)
    guard pieces.count <= 2 else {
      throw EndpointError("the endpoint \(quoted) has an IPv6 address without brackets")
    }
    let host = pieces.first.map { $0.lowercased() } ?? ""
    guard !host.isEmpty else { throw EndpointError("the endpoint \(quoted) has no host") }
    guard host.utf8.allSatisfy({ $0.isHostCharacter }), host.first != ".", host.last != "." else {
      throw EndpointError("the endpoint \(quoted) has no valid host name")
    }
    return (host, pieces.count == 2 ? pieces[1] : nil)
  }

  private static func port(_ text: Substring, quoted: String) throws(EndpointError) -> Int {
    guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = Int(text),
      (1...65_535).contains(port)
    else { throw EndpointError("the endpoint \(quoted) has no valid port") }
    return port
  }
}

extension UInt8 {
  /// True for the characters of a lower-case host name; underscores are used inside clusters.
  var isHostCharacter: Bool {
    switch self {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
      true
    default: false
    }
  }

  /// True for the characters of an IPv6 address, an embedded IPv4 address included.
  fileprivate var isIPv6Character: Bool {
    switch self {
    case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "A")...UInt8(ascii: "F"),
      UInt8(ascii: "0")...UInt8(ascii: ":"), UInt8(ascii: "."):
      true
    default: false
    }
  }
}

extension String {
  /// True for four decimal numbers from 0 to 255 between dots.
  var isIPv4: Bool {
    let pieces = split(separator: ".", omittingEmptySubsequences: false)
    return pieces.count == 4
      && pieces.allSatisfy { piece in
        piece.utf8.allSatisfy { (0x30...0x39).contains($0) } && UInt8(piece) != nil
      }
  }
}
