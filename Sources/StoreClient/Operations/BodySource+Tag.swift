internal import Core
internal import Crypto
internal import Glibc
internal import Support

extension BodySource {
  /// Returns the tag that a store gives an object that it was sent in one piece: its MD5.
  ///
  /// Not every store does (SSE-KMS): a tag that differs proves nothing, one that agrees proves that
  /// the store has these bytes. Nil if there is no MD5 here, or the file can't be read.
  ///
  /// Source: Amazon S3 API Reference, "Object", ETag.
  func tag() async -> ETag? {
    switch self {
    case .empty: MD5.digest(of: []).map { ETag($0.hexadecimal) }
    case .bytes(let bytes): MD5.digest(of: bytes).map { ETag($0.hexadecimal) }
    case .file(let descriptor, let range):
      await BlockingPool(threadCount: 1).run { Self.tag(ofFile: descriptor, range) }
    }
  }

  private static func tag(ofFile descriptor: Int32, _ range: ByteRange) -> ETag? {
    guard var hash = MD5() else { return nil }
    var chunk = [UInt8](repeating: 0, count: 1 << 20)
    var offset = range.lowerBound
    while offset < range.upperBound {
      let wanted = min(chunk.count, range.upperBound - offset)
      let count = chunk.withUnsafeMutableBytes { buffer in
        try? retrying("read descriptor \(descriptor)") {
          pread(descriptor, buffer.baseAddress, wanted, off_t(offset))
        }
      }
      guard let count, count > 0 else { return nil }
      hash.update(chunk.span.bytes.extracting(first: count))
      offset += count
    }
    return ETag(hash.finish().hexadecimal)
  }
}

extension ETag {
  /// Returns the tag that a store gives an object that was uploaded in these parts; nil if a part's
  /// tag is not an MD5.
  ///
  /// Observed: AWS without SSE-KMS, SeaweedFS, moto, radosgw and Swift do so.
  static func ofParts(_ parts: [UploadedPart]) -> ETag? {
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
