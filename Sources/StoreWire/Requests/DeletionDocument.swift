internal import Core

/// The body of DeleteObjects.
enum DeletionDocument {
  /// Returns true if XML can carry the key: text without control characters.
  ///
  /// Source: XML 1.0 section 2.2; a reader makes a carriage return in an element a line feed.
  static func canCarry(_ key: ObjectKey) -> Bool {
    guard let text = String(validating: key.bytes, as: UTF8.self) else { return false }
    return text.unicodeScalars.allSatisfy { scalar in
      scalar.value >= 0x20 && scalar.value != 0xFFFE && scalar.value != 0xFFFF
    }
  }

  static func bytes(of keys: [ObjectKey]) throws(StoreError) -> [UInt8] {
    var text = "<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Quiet>true</Quiet>"
    for key in keys {
      guard !key.bytes.isEmpty, canCarry(key) else {
        throw .unsendable(.deleteObjects, key, "the key can't stand in the list of what to remove")
      }
      text += "<Object><Key>\(String(decoding: key.bytes, as: UTF8.self).xmlText)</Key></Object>"
    }
    return Array((text + "</Delete>").utf8)
  }
}
