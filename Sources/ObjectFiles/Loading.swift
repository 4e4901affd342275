package import Core

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
}
