internal import Core
internal import Crypto
internal import Support

/// Which checksums of a part a store's answer can be compared with.
struct ChecksumKinds: Hashable, Sendable {
  /// CRC-64/XZ, which TOS tells of each part.
  var crc64: Bool
  /// MD5, which most S3 stores give as a part's tag.
  var md5: Bool

  /// None is of use.
  var isEmpty: Bool { !crc64 && !md5 }
}

/// What the bytes of a part are, by the checksums that stores tell.
struct PartChecksums: Hashable, Sendable {
  /// CRC-64/XZ; nil if it isn't of use.
  var crc64: UInt64?
  /// MD5 as a tag; nil if it isn't of use, or not to be had.
  var md5: ETag?

  /// Takes bytes as they are read.
  struct Builder: ~Copyable {
    private var crc: CRC64?
    private var md5: MD5?

    init(_ kinds: ChecksumKinds) {
      crc = kinds.crc64 ? CRC64() : nil
      md5 = kinds.md5 ? MD5() : nil
    }

    mutating func update(_ bytes: RawSpan) {
      crc?.update(bytes)
      md5?.update(bytes)
    }

    consuming func finish() -> PartChecksums {
      let crc64 = crc?.value
      guard let md5 else { return PartChecksums(crc64: crc64) }
      return PartChecksums(crc64: crc64, md5: ETag(md5.finish().hexadecimal))
    }
  }

  /// Returns the checksums of `bytes`.
  static func of(_ bytes: [UInt8], _ kinds: ChecksumKinds) -> PartChecksums {
    var builder = Builder(kinds)
    builder.update(bytes.span.bytes)
    return builder.finish()
  }
  /// What is read at a time.
  private static let chunkSize = 1 << 20

  /// Reads a range of a file and returns its checksums; nil if the file ends before the range does.
  static func of(
    _ range: ByteRange,
    in file: FileDescriptor,
    _ kinds: ChecksumKinds
  ) throws(DiskFailure) -> PartChecksums? {
    guard !kinds.isEmpty else { return PartChecksums() }
    let buffer = UnsafeMutableRawBufferPointer.allocate(
      byteCount: min(chunkSize, range.count),
      alignment: 4096
    )
    defer { buffer.deallocate() }
    var builder = Builder(kinds)
    var offset = range.lowerBound
    while offset < range.upperBound {
      let piece = UnsafeMutableRawBufferPointer(
        rebasing: buffer[..<min(buffer.count, range.upperBound - offset)]
      )
      let count = try file.read(into: piece, at: offset)
      guard count == piece.count else { return nil }
      builder.update(UnsafeRawBufferPointer(piece).bytes)
      offset += count
    }
    return builder.finish()
  }
}
