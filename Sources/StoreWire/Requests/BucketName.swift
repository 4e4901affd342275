/// The rules for the names of buckets.
package enum BucketName {
  /// Returns true if every S3 store takes `name` and it can be part of a host name.
  ///
  /// 3 to 63 lower-case letters, digits, hyphens and dots, a letter or digit at both ends and
  /// beside each dot, and not an IP address.
  ///
  /// Source: Amazon S3 User Guide, "General purpose bucket naming rules".
  package static func isValid(_ name: String) -> Bool {
    guard (3...63).contains(name.utf8.count), !name.isIPv4 else { return false }
    return name.utf8.split(separator: 0x2E, omittingEmptySubsequences: false).allSatisfy { label in
      guard let first = label.first, let last = label.last else { return false }
      return first.isLetterOrDigit && last.isLetterOrDigit
        && label.allSatisfy { $0.isLetterOrDigit || $0 == UInt8(ascii: "-") }
    }
  }

  /// Returns true if TOS takes `name`: 3 to 63 lower-case letters, digits and hyphens, with no hyphen
  /// at either end.
  ///
  /// Source: TOS documentation, "Bucket naming rules".
  package static func isValidAtTOS(_ name: String) -> Bool {
    isValid(name) && !name.utf8.contains(0x2E)
  }

  /// Returns true if `name` may be sent to a store at all; old buckets have upper case and
  /// underscores, and only what would change the URL's meaning is refused.
  package static func isUsable(_ name: String) -> Bool {
    (1...255).contains(name.utf8.count) && name != "." && name != ".."
      && name.utf8.allSatisfy {
        (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "\\")
      }
  }
}

extension UInt8 {
  /// True for lower-case letters and digits.
  fileprivate var isLetterOrDigit: Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self)
      || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self)
  }
}
