import Core
import HTTP
import Simulation
import Support
import Synchronization

/// A receiver that keeps what it gets, and checks bodies against the weather's pattern.
final class Collector: HTTPReceiver {
  struct State {
    var heads: [HTTPResponseHead] = []
    var body: [UInt8] = []
    var size = 0
    var pieceCount = 0
    var isPattern = true
    var isInOrder = true
  }

  private let state = Lock(State())
  private let keepsBody: Bool
  private let wantsBody: Bool
  private let sizeMax: Int
  /// Opens with the first byte of the body.
  let hasBegun = Gate()

  /// - Parameters:
  ///   - keepsBody: false for bodies that are too large to keep.
  ///   - wantsBody: false to stop at the head.
  ///   - sizeMax: how many bytes it takes before its disk is full.
  init(keepsBody: Bool = true, wantsBody: Bool = true, sizeMax: Int = .max) {
    self.keepsBody = keepsBody
    self.wantsBody = wantsBody
    self.sizeMax = sizeMax
  }

  func receive(head: HTTPResponseHead) -> Bool {
    state.withLock { state in
      if state.size > 0 { state.isInOrder = false }
      state.heads.append(head)
    }
    return wantsBody
  }

  func receive(body: RawSpan) throws(DiskFailure) {
    let isFull = state.withLock { state in
      guard state.size + body.byteCount <= sizeMax else { return true }
      if state.heads.count != 1 { state.isInOrder = false }
      if !WeatherPattern.matches(body, at: state.size) { state.isPattern = false }
      state.size += body.byteCount
      state.pieceCount += 1
      if keepsBody { body.withUnsafeBytes { state.body += $0 } }
      return false
    }
    if isFull { throw DiskFailure(errno: 28, action: "write the cache", reason: "no space left") }
    hasBegun.open()
  }

  /// The body as text.
  var text: String { String(decoding: state.withLock { $0.body }, as: UTF8.self) }
  /// How many bytes of body came.
  var size: Int { state.withLock { $0.size } }
  /// How many pieces the body came in.
  var pieceCount: Int { state.withLock { $0.pieceCount } }
  /// True if the body is the beginning of the weather's pattern.
  var isPattern: Bool { state.withLock { $0.isPattern } }
  /// True if there was one head, before all of the body.
  var isInOrder: Bool { state.withLock { $0.isInOrder && $0.heads.count == 1 } }
  /// The heads that came.
  var heads: [HTTPResponseHead] { state.withLock { $0.heads } }
}

/// A moment from now.
func soon(_ duration: Duration = .seconds(20)) -> Instant { SystemClock().now + duration }

extension HTTPRequest {
  /// A GET that has 20 seconds.
  static func get(_ url: String, fields: HeaderFields = HeaderFields()) -> HTTPRequest {
    HTTPRequest(method: "GET", url: url, fields: fields, deadline: soon())
  }
}

extension CurlClient {
  /// The head and the body of the answer to a GET.
  func get(
    _ url: String,
    fields: HeaderFields = HeaderFields()
  ) async throws -> (head: HTTPResponseHead, body: Collector) {
    let receiver = Collector()
    return (try await perform(.get(url, fields: fields), receiver: receiver), receiver)
  }

  /// Why a request failed; nil if it did not.
  func failure(
    of request: HTTPRequest,
    receiver: Collector = Collector()
  ) async -> HTTPError? {
    do throws(HTTPError) {
      _ = try await perform(request, receiver: receiver)
      return nil
    } catch {
      return error
    }
  }
}
