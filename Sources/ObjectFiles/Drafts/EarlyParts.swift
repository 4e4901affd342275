internal import Core

/// Which parts of a file are sent while it is being written, and which of them are right.
///
/// A part is sent when it is complete and what is written has passed it. Writing into it afterwards makes
/// what was sent wrong, and it is sent with the rest when the file is published.
struct EarlyParts: Sendable {
  /// How the parts are cut.
  private let stream: StreamPlan
  private let parallel: Int
  /// The end of each part that has been passed, in order.
  private var ends: [Int] = []
  /// Parts that may be sent, in order.
  private var ready: [Int] = []
  private var inFlight: Set<Int> = []
  /// Parts that were written into since they were begun.
  private var spoilt: Set<Int> = []
  /// Parts that the store has, as they are now.
  private(set) var sent: [Int: UploadedPart] = [:]
  /// No more are begun.
  private(set) var isEnded = false

  init(_ stream: StreamPlan, parallel: Int) {
    self.stream = stream
    self.parallel = parallel
  }

  /// No part is on its way.
  var isIdle: Bool { inFlight.isEmpty }

  /// The bytes of a part that has been passed.
  func range(of number: Int) -> ByteRange {
    ByteRange(number == 1 ? 0 : ends[number - 2], ends[number - 1])
  }

  /// The file has been written in order up to `end`.
  ///
  /// - Returns: the parts to send now.
  mutating func written(to end: Int) -> [Int] {
    while !isEnded, let size = stream.size(ofPart: ends.count + 1) {
      let next = (ends.last ?? 0) + size
      guard next <= end else { break }
      ends.append(next)
      ready.append(ends.count)
    }
    return begin()
  }

  /// Bytes have changed.
  mutating func changed(_ range: ByteRange) {
    // What goes on at the end touches no part that has been passed.
    guard let last = ends.last, range.lowerBound < last else { return }
    for number in 1...ends.count where self.range(of: number).overlaps(range) {
      sent[number] = nil
      ready.removeAll { $0 == number }
      if inFlight.contains(number) { spoilt.insert(number) }
    }
  }

  /// A part has been sent; nil if it could not be.
  ///
  /// - Returns: the parts to send now.
  mutating func ended(_ number: Int, _ part: UploadedPart?) -> [Int] {
    inFlight.remove(number)
    let isRight = spoilt.remove(number) == nil
    guard let part else {
      // What is wrong with the store is told when the file is published.
      end()
      return []
    }
    if isRight { sent[number] = part }
    return begin()
  }

  /// Nothing is begun any more.
  mutating func end() {
    isEnded = true
    ready = []
  }

  private mutating func begin() -> [Int] {
    let count = max(0, min(ready.count, parallel - inFlight.count))
    let begun = Array(ready.prefix(count))
    ready.removeFirst(count)
    inFlight.formUnion(begun)
    return begun
  }
}
