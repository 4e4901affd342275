internal import Core

/// What a multipart upload is to become, as it is kept in the upload's directory: a line with the
/// format's version, then one field a line, names and values in hexadecimal because keys may have
/// any bytes.
struct UploadRecord: Hashable, Sendable {
  private static let header = "dipper-local upload 2"

  /// What to store; its condition is not kept, since completing names it.
  var request: PutRequest

  /// The file's bytes.
  var encoded: [UInt8] {
    var lines = [Self.header, "key \(request.key.bytes.hexadecimal)"]
    func add(_ kind: String, _ name: String, _ value: String) {
      lines.append("\(kind) \(Array(name.utf8).hexadecimal) \(Array(value.utf8).hexadecimal)")
    }
    for (name, value) in request.headers.fields { add("header", name, value) }
    for (name, value) in request.userMetadata.sorted(by: { $0.key < $1.key }) {
      add("meta", name, value)
    }
    for (name, value) in request.tags.sorted(by: { $0.key < $1.key }) { add("tag", name, value) }
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
    var headers = HeaderFields()
    var request = PutRequest(key: ObjectKey(""))
    for line in lines.dropFirst().dropLast() {
      let words = line.split(separator: " ", omittingEmptySubsequences: false)
      let values = words.dropFirst().compactMap { [UInt8](hexadecimal: $0) }
      guard values.count == words.count - 1, let first = values.first, let last = values.last else {
        return nil
      }
      let name = String(decoding: first, as: UTF8.self)
      let value = String(decoding: last, as: UTF8.self)
      switch (words[0], values.count) {
      case ("key", 1): key = ObjectKey(first)
      case ("header", 2): headers.append(name, value)
      case ("meta", 2): request.userMetadata[name] = value
      case ("tag", 2): request.tags[name] = value
      default: return nil
      }
    }
    guard let key else { return nil }
    request.key = key
    request.headers = ContentHeaders(headers)
    self.request = request
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
