package import Core

extension ETag {
  /// Returns the tag that a store gives an object that was uploaded in these parts; nil if a part's
  /// tag is not an MD5.
  ///
  /// Observed: AWS without SSE-KMS, SeaweedFS, moto, radosgw and Swift do so.
  package static func ofParts(_ parts: [UploadedPart]) -> ETag? {
    var digests: [UInt8] = []
    for part in parts.sorted(by: { $0.partNumber < $1.partNumber }) {
      guard let digest = part.etag.value.hexadecimalBytes, digest.count == MD5.byteCount else {
        return nil
      }
      digests += digest
    }
    return MD5.digest(of: digests).map { ETag("\($0.hexadecimal)-\(parts.count)") }
  }
}

extension String {
  /// The bytes that hexadecimal digits stand for; nil if it is anything else.
  fileprivate var hexadecimalBytes: [UInt8]? {
    let digits = Array(utf8)
    guard digits.count.isMultiple(of: 2) else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: digits.count, by: 2) {
      let pair = digits[index..<index + 2]
      // UInt8(_:radix:) takes a sign.
      guard !pair.contains(UInt8(ascii: "+")), !pair.contains(UInt8(ascii: "-")),
        let byte = UInt8(String(decoding: pair, as: UTF8.self), radix: 16)
      else { return nil }
      bytes.append(byte)
    }
    return bytes
  }
}
