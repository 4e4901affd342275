/// The bytes of memory that transfers and whoever else draws from it may hold together (O3).
///
/// It only counts. Whoever is refused waits for something of its own to end, or does without.
package final class MemoryBudget: Sendable {
  /// The limit in bytes.
  package let limit: Int
  private let used = Lock(0)

  /// Creates an unused budget of `limit` bytes.
  package init(limit: Int) {
    self.limit = limit
  }

  /// Bytes taken.
  package var usedByteCount: Int { used.withLock { $0 } }

  /// Takes `byteCount` bytes if that many are left.
  ///
  /// - Parameters:
  ///   - byteCount: how many.
  ///   - isForced: takes them even if they aren't left, for what must go on.
  /// - Returns: false if nothing was taken.
  package func take(_ byteCount: Int, isForced: Bool = false) -> Bool {
    used.withLock { used in
      guard isForced || used + byteCount <= limit else { return false }
      used += byteCount
      return true
    }
  }

  /// Gives bytes back that were taken.
  package func giveBack(_ byteCount: Int) {
    used.withLock { used in
      precondition(used >= byteCount, "more memory given back than was taken")
      used -= byteCount
    }
  }
}
