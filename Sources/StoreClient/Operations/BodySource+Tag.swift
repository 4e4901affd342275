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
