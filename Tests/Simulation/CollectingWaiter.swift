package import Core
internal import Support

/// Waits for bytes of an object and keeps what it is told, as a reader would.
package final class CollectingWaiter: ReadWaiter {
  private let range: ByteRange
  private let told = Lock<[Result<[UInt8], FetchError>]>([])
  private let gate = Gate()

  /// Creates a waiter for `range`.
  package init(_ range: ByteRange) {
    self.range = range
  }

  /// Waits until it is told something, and returns that.
  package func outcome() async -> Result<[UInt8], FetchError> {
    await gate.wait()
    return told.withLock { $0[0] }
  }

  /// All that it was told; one thing at most, if whoever told it does it right.
  package var all: [Result<[UInt8], FetchError>] { told.withLock { $0 } }

  package func served(from descriptor: Int32) {
    tell(.success(readBytes(of: descriptor, range)))
  }

  package func served(_ bytes: [UInt8]) { tell(.success(bytes)) }

  package func failed(_ error: FetchError) { tell(.failure(error)) }

  private func tell(_ outcome: Result<[UInt8], FetchError>) {
    told.withLock { $0.append(outcome) }
    gate.open()
  }
}
