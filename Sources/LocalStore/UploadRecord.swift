internal import Core

/// What a multipart upload is to become, as it is kept in the upload's directory: a line with the
/// format's version, then one field a line, names and values in hexadecimal because keys may have
/// any bytes.
struct UploadRecord: Hashable, Sendable {
  private static let header = "dipper-local upload 1"

  /// What to store; its condition is not kept, since completing names it.
  var request: PutRequest

  /// The file's bytes.
  var encoded: [UInt8] {
    var lines = [Self.header, "key \(request.key.bytes.hexadecimal)"]
    if let type = request.contentType { lines.append("type \(Array(type.utf8).hexadecimal)") }
    for (name, value) in request.userMetadata.sorted(by: { $0.key < $1.key }) {
      lines.append("meta \(Array(name.utf8).hexadecimal) \(Array(value.utf8).hexadecimal)")
    }
    lines.append("end\n")
    return Array(lines.joined(separator: "\n").utf8)
  }

  /// Creates the record of an upload.
  init(_ request: PutRequest) {
    self.request = request
    self.request.condition = .none
    self.request.storageClass = nil
  }

  /// Reads a record; nil if it is torn or of another version.
  init?(encoded: [UInt8]) {
    let lines = String(decoding: encoded, as: UTF8.self).split(separator: "\n")
    guard lines.first == Self.header[...], lines.last == "end" else { return nil }
    var key: ObjectKey?
    var contentType: String?
    var userMetadata: [String: String] = [:]
    for line in lines.dropFirst().dropLast() {
      let words = line.split(separator: " ", omittingEmptySubsequences: false)
      let values = words.dropFirst().compactMap { [UInt8](hexadecimal: $0) }
      guard values.count == words.count - 1, let value = values.first else { return nil }
      switch (words[0], values.count) {
      case ("key", 1): key = ObjectKey(value)
      case ("type", 1): contentType = String(decoding: value, as: UTF8.self)
      case ("meta", 2):
        userMetadata[String(decoding: value, as: UTF8.self)] =
          String(decoding: values[1], as: UTF8.self)
      default: return nil
      }
    }
    guard let key else { return nil }
    request = PutRequest(key: key, contentType: contentType, userMetadata: userMetadata)
  }
}

extension [UInt8] {
  /// Two lower-case digits for each byte.
  var hexadecimal: String {
    reduce(into: "") { text, byte in
      text += byte < 16 ? "0" : ""
      text += String(byte, radix: 16)
    }
  }

  /// The bytes that pairs of digits spell; nil if they don't.
  init?(hexadecimal text: Substring) {
    let digits = Array(text.utf8)
    guard digits.count.isMultiple(of: 2) else { return nil }
    self = []
    for index in stride(from: 0, to: digits.count, by: 2) {
      let pair = String(decoding: digits[index...index + 1], as: UTF8.self)
      guard let byte = UInt8(pair, radix: 16), pair.first != "+" else { return nil }
      append(byte)
    }
  }
}
