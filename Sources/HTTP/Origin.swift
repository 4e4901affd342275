/// Where a URL leads: the server that connections are made to and counted for.
struct Origin: Hashable, Sendable {
  /// True for https.
  let isSecure: Bool
  /// The name or address in lower case; IPv6 in brackets.
  let host: String
  /// The port, the scheme's own if the URL names none.
  let port: Int

  /// Reads the origin of an http or https URL.
  ///
  /// - Returns: nil if it isn't one, if it has a user or password in it, or if it contains anything
  ///   but visible ASCII, which could break out of the request line.
  init?(url: String) {
    let bytes = url.utf8
    guard bytes.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
    guard let mark = url.firstRange(of: "://") else { return nil }
    switch url[..<mark.lowerBound].lowercased() {
    case "http": isSecure = false
    case "https": isSecure = true
    default: return nil
    }
    let authority = url[mark.upperBound...].prefix { !"/?#".contains($0) }
    guard !authority.contains("@"), !authority.contains("\\") else { return nil }
    let (name, digits) = Self.split(authority)
    guard !name.isEmpty else { return nil }
    host = name.lowercased()
    guard let digits, !digits.isEmpty else {
      port = isSecure ? 443 : 80
      return
    }
    guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(digits),
      (1...65_535).contains(number)
    else { return nil }
    port = number
  }

  /// Splits an authority at the colon before its port; the colons of an IPv6 address are in brackets.
  private static func split(_ authority: Substring) -> (name: Substring, port: Substring?) {
    let end = authority.lastIndex(of: "]") ?? authority.startIndex
    guard let colon = authority[end...].firstIndex(of: ":") else { return (authority, nil) }
    return (authority[..<colon], authority[authority.index(after: colon)...])
  }
}

extension Origin: CustomStringConvertible {
  /// `host:port`.
  var description: String { "\(host):\(port)" }
}
