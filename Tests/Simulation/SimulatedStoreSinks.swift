package import Core
internal import Support

/// A sink that keeps what it is given, and notes whether it came in order.
package final class CollectingSink: BodySink {
  private struct State {
    var bytes: [UInt8] = []
    var firstOffset: Int?
    var isContiguous = true
    var pieceCount = 0
  }

  private let state = Lock(State())
  private let refusesAfter: Int
  private let onPiece: @Sendable () -> Void

  /// Creates a sink.
  ///
  /// - Parameters:
  ///   - refusesAfter: it refuses, as a full disk does, what goes beyond this many bytes.
  ///   - onPiece: is called after each piece that it took.
  package init(refusesAfter: Int = .max, onPiece: @escaping @Sendable () -> Void = {}) {
    self.refusesAfter = refusesAfter
    self.onPiece = onPiece
  }

  package func receive(_ bytes: RawSpan, at offset: Int) throws(DiskFailure) {
    try state.withLock { (state: inout State) throws(DiskFailure) in
      guard state.bytes.count + bytes.byteCount <= refusesAfter else {
        throw DiskFailure(errno: 28, action: "write the sink", reason: "No space left on device")
      }
      let first = state.firstOffset ?? offset
      state.firstOffset = first
      if offset != first + state.bytes.count { state.isContiguous = false }
      state.pieceCount += 1
      bytes.withUnsafeBytes { state.bytes.append(contentsOf: $0) }
    }
    onPiece()
  }

  /// What came.
  package var bytes: [UInt8] { state.withLock { $0.bytes } }
  /// The offset of the first byte in the object; nil if none came.
  package var firstOffset: Int? { state.withLock { $0.firstOffset } }
  /// True if each piece started where the one before it ended.
  package var isContiguous: Bool { state.withLock { $0.isContiguous } }
  /// In how many pieces it came.
  package var pieceCount: Int { state.withLock { $0.pieceCount } }
}
