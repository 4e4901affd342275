internal import Core

extension HTTPRequest {
  /// Returns where the request goes, if it can be sent as it stands.
  ///
  /// What goes into the request's head is checked here, so that no part of it can break out of its
  /// line.
  ///
  /// - Throws: `.invalid` with the reason.
  func checkedOrigin() throws(HTTPError) -> Origin {
    guard let origin = Origin(url: url) else {
      throw HTTPError(.invalid, "not an http or https URL: \(url.utf8.printable)")
    }
    guard !method.isEmpty, method.utf8.allSatisfy({ (0x41...0x5A).contains($0) }) else {
      throw HTTPError(.invalid, "not a method: \(method.utf8.printable)")
    }
    guard body.count == 0 || (method != "GET" && method != "HEAD") else {
      throw HTTPError(.invalid, "\(origin): \(method) has no body")
    }
    for field in fields.fields {
      guard field.isSendable else {
        throw HTTPError(.invalid, "\(origin): can't send the header \(field.name.utf8.printable)")
      }
    }
    return origin
  }
}

extension HeaderFields.Field {
  /// The fields that the transport sets itself, from the body.
  private static let reserved = ["Content-Length", "Transfer-Encoding", "Expect"]

  /// True if the name is a token, the value one line, and neither is the transport's to set.
  ///
  /// Source: RFC 9110 sections 5.1 and 5.5.
  fileprivate var isSendable: Bool {
    !name.isEmpty && name.utf8.allSatisfy(\.isTokenCharacter)
      && value.utf8.allSatisfy { $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }
      && !Self.reserved.contains(where: name.equalsIgnoringASCIICase)
  }
}

extension UInt8 {
  /// True for the characters of which names of header fields are made.
  fileprivate var isTokenCharacter: Bool {
    switch self {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default:
      "!#$%&'*+-.^_`|~".utf8.contains(self)
    }
  }
}
