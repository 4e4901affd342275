internal import Core
internal import HTTP
internal import Support

/// Keeps an answer's body, up to a limit.
final class CollectingReceiver: HTTPReceiver {
  /// 64 KiB: an error document is a few hundred bytes; what is larger is some proxy's web page.
  static let errorSizeMax = 64 << 10
  /// 32 MiB: a page of 1,000 keys of 1,024 bytes, each byte escaped, with all its fields is below.
  static let documentSizeMax = 32 << 20
  /// Ends a transfer whose body is larger than it may be; the receiver knows that it was this.
  static let fullFailure = DiskFailure(
    errno: 27,  // EFBIG
    action: "keep the answer",
    reason: "it is larger than it may be"
  )

  private struct State {
    var head: HTTPResponseHead?
    var body: [UInt8] = []
    var isTooLarge = false
  }

  private let state = Lock(State())
  private let sizeMax: Int

  /// Creates a receiver that keeps so many bytes of a success.
  init(sizeMax: Int = CollectingReceiver.documentSizeMax) {
    self.sizeMax = sizeMax
  }

  /// The head, once it came.
  var head: HTTPResponseHead? { state.withLock { $0.head } }
  /// The body as far as it is kept.
  var body: [UInt8] { state.withLock { $0.body } }
  /// True if the body was larger than it may be.
  var isTooLarge: Bool { state.withLock { $0.isTooLarge } }

  func receive(head: HTTPResponseHead) -> Bool {
    state.withLock { $0.head = head }
    return true
  }

  func receive(body: RawSpan) throws(DiskFailure) {
    let isFull = state.withLock { state in
      let isSuccess = (200..<300).contains(state.head?.status ?? 0)
      let limit = isSuccess ? sizeMax : Self.errorSizeMax
      state.isTooLarge = state.body.append(body, limit: limit)
      return state.isTooLarge
    }
    if isFull { throw Self.fullFailure }
  }
}

extension [UInt8] {
  /// Adds bytes up to a count of `limit`.
  ///
  /// - Returns: true if some had no room.
  mutating func append(_ bytes: RawSpan, limit: Int) -> Bool {
    let room = Swift.min(bytes.byteCount, limit - count)
    bytes.withUnsafeBytes { append(contentsOf: $0.prefix(room)) }
    return room < bytes.byteCount
  }
}
