internal import Core
internal import Support

/// What a flat listing said of one directory: all of it.
final class FlatPart: Sendable {
  /// The directory's prefix.
  let prefix: ObjectKey
  let contents: ListingContents
  /// When the first page with something of it was asked for.
  let startedAt: Instant
  /// When the last page with something of it had come.
  let completedAt: Instant
  /// Keys that can't be shown.
  let rejections: [ListingContents.Rejection]
  private let memory: ListingMemory
  private let byteCount: Int
  /// False if there was no room for it.
  let hasRoom: Bool

  fileprivate init(_ open: FlatSorter.Open, completedAt: Instant, memory: ListingMemory) {
    prefix = open.contents.prefix
    contents = open.contents
    startedAt = open.startedAt
    rejections = open.rejections
    self.completedAt = completedAt
    self.memory = memory
    byteCount = contents.byteCount
    // Unlike a listing that somebody reads, a guess has no claim to a megabyte.
    hasRoom = memory.grew(by: byteCount, to: .max)
  }

  deinit { memory.giveBack(byteCount) }
}

/// Sorts the keys of a flat listing into the directories that they lie in.
///
/// The keys of a directory follow each other, in byte order and also in the order of stores that
/// keep a tree, so a directory is complete when a key that lies elsewhere has come, or the end.
struct FlatSorter: Sendable {
  /// A directory whose keys are coming.
  fileprivate struct Open: Sendable {
    var contents: ListingContents
    var page = ListPage(objects: [], commonPrefixes: [], nextToken: nil)
    var rejections: [ListingContents.Rejection] = []
    let startedAt: Instant

    mutating func flush(requestedAt: Instant, isLast: Bool) {
      rejections += contents.append(page, requestedAt: requestedAt, isLast: isLast)
      page = ListPage(objects: [], commonPrefixes: [], nextToken: nil)
    }
  }

  /// What a page came to.
  enum Outcome: Sendable {
    /// The directories that it completes.
    case parts([FlatPart])
    /// The keys are in no known order, so that nothing tells when a directory is complete.
    case unordered
    /// There is no room for it, or it is not what was asked for.
    case unusable
  }

  /// A page may begin so many directories; one with a key in each has a thousand.
  private static let openedPerPageMax = 4_000
  private static let slash = UInt8(ascii: "/")

  /// What lies below it is sorted; it is not one of the parts itself.
  let prefix: ObjectKey
  private let memory: ListingMemory
  private let digest: NameDigest
  /// The directories on the way to the last key, outermost first.
  private var open: [Open] = []
  private var lastKey: ObjectKey?
  private var mayBeByteOrder = true
  private var mayBeTreeOrder = true

  init(prefix: ObjectKey, memory: ListingMemory, digest: NameDigest) {
    self.prefix = prefix
    self.memory = memory
    self.digest = digest
  }

  /// Sorts a page.
  mutating func take(_ page: ListPage, requestedAt: Instant, now: Instant) -> Outcome {
    var parts: [FlatPart] = []
    var openedCount = 0
    guard page.commonPrefixes.isEmpty else { return .unusable }
    for object in page.objects {
      let key = object.key
      guard key.hasPrefix(prefix) else { return .unusable }
      guard follows(key) else { return .unordered }
      lastKey = key
      while let last = open.last, !key.hasPrefix(last.contents.prefix) {
        parts.append(close(requestedAt, now))
      }
      let known = open.last?.contents.prefix ?? prefix
      var start = known.bytes.count
      while let end = key.bytes[start...].firstIndex(of: Self.slash) {
        start = end + 1
        openedCount += 1
        let directory = ObjectKey(key.bytes[..<start])
        if !open.isEmpty { open[open.count - 1].page.commonPrefixes.append(directory) }
        let contents = ListingContents(prefix: directory, digest: digest)
        open.append(Open(contents: contents, startedAt: requestedAt))
      }
      guard openedCount <= Self.openedPerPageMax else { return .unusable }
      if !open.isEmpty { open[open.count - 1].page.objects.append(object) }
    }
    if page.nextToken == nil {
      while !open.isEmpty { parts.append(close(requestedAt, now)) }
    } else {
      for index in open.indices { open[index].flush(requestedAt: requestedAt, isLast: false) }
    }
    return parts.allSatisfy(\.hasRoom) ? .parts(parts) : .unusable
  }

  /// True if the listing is past everything that could lie in a directory.
  func isPast(_ directory: ObjectKey) -> Bool {
    guard let lastKey, !lastKey.hasPrefix(directory) else { return false }
    return (!mayBeByteOrder || directory < lastKey)
      && (!mayBeTreeOrder || Self.precedesInTree(directory, lastKey))
  }

  private mutating func close(_ requestedAt: Instant, _ now: Instant) -> FlatPart {
    var last = open.removeLast()
    last.flush(requestedAt: requestedAt, isLast: true)
    return FlatPart(last, completedAt: now, memory: memory)
  }

  /// Whether a key may follow the last one in an order that keeps directories together.
  private mutating func follows(_ key: ObjectKey) -> Bool {
    guard let lastKey else { return true }
    mayBeByteOrder = mayBeByteOrder && lastKey < key
    mayBeTreeOrder = mayBeTreeOrder && Self.precedesInTree(lastKey, key)
    return mayBeByteOrder || mayBeTreeOrder
  }

  /// Byte order with the slash before all other bytes.
  private static func precedesInTree(_ left: ObjectKey, _ right: ObjectKey) -> Bool {
    left.bytes.lexicographicallyPrecedes(right.bytes) { left, right in
      right != slash && (left == slash || left < right)
    }
  }
}
