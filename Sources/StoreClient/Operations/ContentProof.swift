internal import Core
internal import Crypto
internal import Glibc
internal import Support

/// What shows that an object at the store has certain bytes.
///
/// Something must be given, and whatever is given must agree.
struct ContentProof: Hashable, Sendable {
  /// The tag that a store gives such an object.
  ///
  /// Not every store does (SSE-KMS): a tag that differs proves nothing, one that agrees proves that
  /// the store has these bytes. Source: Amazon S3 API Reference, "Object", ETag.
  var etag: ETag?
  /// CRC-64/XZ of the bytes; it counts only together with the size.
  var crc64: UInt64?
  /// How many they are.
  var size: Int?

  /// Returns true if the object is what is described.
  func describes(_ metadata: ObjectMetadata) -> Bool {
    guard size == nil || size == metadata.size else { return false }
    if let etag { return metadata.version.etag == etag }
    return crc64 != nil && size != nil && metadata.crc64 == crc64
  }
}

extension ContentProof {
  /// Describes an object that is uploaded in these parts, by the checksums that the store told of
  /// them; nil unless it told each.
  init?(checksumsOf parts: [UploadedPart]) {
    var sum: UInt64 = 0
    var total = 0
    for part in parts.sorted(by: { $0.partNumber < $1.partNumber }) {
      guard let crc64 = part.crc64, let size = part.size else { return nil }
      sum = CRC64.combine(sum, crc64, lengthB: size)
      total += size
    }
    crc64 = sum
    size = total
  }
}

extension RemoteStore {
  /// Returns what shows that the store has this body: its CRC-64 where the store keeps those, else
  /// its MD5; nil if that can't be had.
  ///
  /// It reads the body once more, but only after an answer was lost.
  func proof(of body: BodySource) async -> ContentProof? {
    let hasChecksums = session.withLock { $0.capabilities.wholeObjectChecksum } == .crc64
    return await BlockingPool(threadCount: 1).run {
      if hasChecksums {
        var crc = CRC64()
        guard body.forEachChunk({ crc.update($0) }) else { return nil }
        return ContentProof(crc64: crc.value, size: body.count)
      }
      guard var hash = MD5(), body.forEachChunk({ hash.update($0) }) else { return nil }
      return ContentProof(etag: ETag(hash.finish().hexadecimal), size: body.count)
    }
  }
}

extension BodySource {
  /// Hands all bytes over in order; false if the file can't be read to its end.
  func forEachChunk(_ take: (RawSpan) -> Void) -> Bool {
    switch self {
    case .empty: return true
    case .bytes(let bytes):
      take(bytes.span.bytes)
      return true
    case .file(let descriptor, let range):
      var chunk = [UInt8](repeating: 0, count: min(1 << 20, range.count))
      var offset = range.lowerBound
      while offset < range.upperBound {
        let wanted = min(chunk.count, range.upperBound - offset)
        let count = chunk.withUnsafeMutableBytes { buffer in
          try? retrying("read descriptor \(descriptor)") {
            pread(descriptor, buffer.baseAddress, wanted, off_t(offset))
          }
        }
        guard let count, count > 0 else { return false }
        take(chunk.span.bytes.extracting(first: count))
        offset += count
      }
      return true
    }
  }
}
