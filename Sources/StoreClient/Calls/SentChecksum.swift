internal import Core
internal import Crypto
internal import HTTP
internal import Support

/// CRC-64/XZ of a request's body, computed while it goes out.
final class SentChecksum: BodyWatcher {
  private struct State {
    var crc = CRC64()
    var count = 0
    /// False once bytes came out of order.
    var isWhole = true
  }

  private let state = Lock(State())

  func sent(_ bytes: RawSpan, at offset: Int) {
    state.withLock { state in
      // The transport begins anew when a connection that it took up again was dead.
      if offset == 0 { state = State() }
      guard offset == state.count else {
        state.isWhole = false
        return
      }
      state.crc.update(bytes)
      state.count += bytes.byteCount
    }
  }

  /// The checksum, if all `count` bytes of the body have passed; nil if not.
  func value(of count: Int) -> UInt64? {
    state.withLock { $0.isWhole && $0.count == count ? $0.crc.value : nil }
  }
}
