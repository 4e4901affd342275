package import Core
internal import Support

extension ObjectFile {
  /// Has every byte in the cache when it returns, for those who read on when the store has it no more.
  package func load() async -> Result<Void, FileError> {
    await Loading.run(version.size) { range, reply in self.read(range, reply: reply) }
  }
}

extension Draft {
  /// Has every byte on the local disk when it returns, its own or in the cache, for those who read on when
  /// the store has it no more.
  package func load() async -> Result<Void, FileError> {
    await Loading.run(size) { range, reply in self.read(range, reply: reply) }
  }
}

extension ObjectFile {
  /// Reads a small object as a whole.
  package func bytes() async -> Result<[UInt8], FileError> {
    await Loading.bytes(version.size, of: version.key) { range, reply in
      self.read(range, reply: reply)
    }
  }
}

extension Draft {
  /// Reads a small draft as a whole.
  package func bytes() async -> Result<[UInt8], FileError> {
    await Loading.bytes(size, of: key) { range, reply in self.read(range, reply: reply) }
  }
}

/// Reads a file from its beginning to its end, for what that leaves in the cache.
private enum Loading {
  private static let stepSize = 1 << 20

  static func run(
    _ size: Int,
    _ read: (ByteRange, consuming Reply<DataAnswer>) -> Void
  ) async -> Result<Void, FileError> {
    for start in stride(from: 0, to: size, by: stepSize) {
      let collector = ReplyCollector<DataAnswer>()
      read(ByteRange(start, min(size, start + stepSize)), collector.reply)
      if case .failure(let error) = await collector.outcome() { return .failure(error) }
    }
    return .success(())
  }

  static func bytes(
    _ size: Int,
    of key: ObjectKey,
    _ read: (ByteRange, consuming Reply<DataAnswer>) -> Void
  ) async -> Result<[UInt8], FileError> {
    guard size > 0 else { return .success([]) }
    let collector = ReplyCollector<DataAnswer>()
    read(ByteRange(0, size), collector.reply)
    switch await collector.outcome() {
    case .failure(let error): return .failure(error)
    case .success(.bytes(let bytes)): return .success(bytes)
    case .success(.file(let descriptor, let range)):
      do throws(DiskFailure) {
        return .success(try FileDescriptor.bytes(range, of: descriptor))
      } catch {
        return .failure(FileError(error, reading: key))
      }
    }
  }
}
