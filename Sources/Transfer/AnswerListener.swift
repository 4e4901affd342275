package import Core
internal import Support

/// Hears what the store says of objects beside their bytes, when these are fetched.
package final class AnswerListener: Sendable {
  private let action = Lock((@Sendable (ObjectMetadata, Instant) -> Void)?.none)

  /// Creates a listener that does nothing.
  package init() {}

  /// Runs `action` with each answer from now on, and the moment when it was asked for; from any thread, and
  /// it must not block.
  package func listen(_ action: @escaping @Sendable (ObjectMetadata, Instant) -> Void) {
    self.action.withLock { $0 = action }
  }

  func heard(_ object: ObjectMetadata, askedAt: Instant) {
    action.withLock { $0 }?(object, askedAt)
  }
}
