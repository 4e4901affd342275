internal import Core
internal import Glibc
internal import Support

/// Reads a request's body piece by piece, straight into the transport's buffer.
struct BodyCursor {
  private let source: BodySource
  private let watcher: (any BodyWatcher)?
  /// How many bytes were read.
  private(set) var position = 0

  /// Creates a cursor at the start of `source`.
  init(_ source: BodySource, watcher: (any BodyWatcher)? = nil) {
    self.source = source
    self.watcher = watcher
  }

  /// Fills `buffer` with the next bytes; fewer only at the end of the body.
  ///
  /// - Throws: the disk's failure, or one of its own if the file ends before the body does.
  mutating func read(into buffer: UnsafeMutableRawBufferPointer) throws(DiskFailure) -> Int {
    let count = min(buffer.count, source.count - position)
    guard count > 0 else { return 0 }
    switch source {
    case .empty:
      return 0
    case .bytes(let bytes):
      bytes.withUnsafeBytes { bytes in
        buffer.copyMemory(
          from: UnsafeRawBufferPointer(rebasing: bytes[position..<position + count])
        )
      }
    case .file(let descriptor, let range):
      try Self.fill(
        UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]),
        from: descriptor,
        at: range.lowerBound + position
      )
    }
    watcher?.sent(UnsafeRawBufferPointer(rebasing: buffer[..<count]).bytes, at: position)
    position += count
    return count
  }

  /// True if there were bytes, and all were read.
  var isAtEnd: Bool { source.count > 0 && position == source.count }

  /// Moves to `position`; false if there is no such place in the body.
  mutating func seek(to position: Int) -> Bool {
    guard (0...source.count).contains(position) else { return false }
    self.position = position
    return true
  }

  private static func fill(
    _ buffer: UnsafeMutableRawBufferPointer,
    from descriptor: Int32,
    at offset: Int
  ) throws(DiskFailure) {
    var done = 0
    while done < buffer.count, let base = buffer.baseAddress {
      let count = try retrying("read descriptor \(descriptor) at \(offset + done)") {
        pread(descriptor, base + done, buffer.count - done, off_t(offset + done))
      }
      guard count > 0 else {
        throw DiskFailure(
          errno: EIO,
          action: "read descriptor \(descriptor) at \(offset + done)",
          reason: "the file is shorter than the body that was announced"
        )
      }
      done += count
    }
  }
}
