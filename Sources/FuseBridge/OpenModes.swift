internal import Core

/// How the open files of each node are read: by asking us, or by the kernel itself from a *backing*,
/// a registered file that holds every byte.
///
/// The kernel takes one way per node: while one open file of it is backed, all that are opened
/// must have that same backing; while one is not, none may. It answers `EIO` otherwise. So the first
/// open of a node decides, until the last one is released.
/// Source: fs/fuse/iomode.c, Linux 6.18. It drops an open file's way before it sends RELEASE, so
/// what is counted here is never less than what the kernel counts.
struct OpenModes: Sendable {
  /// The kernel's number of a registered file.
  struct Backing: Hashable, Sendable {
    let number: Int32
  }

  /// How a file is read.
  enum Way: Hashable, Sendable {
    /// Each read that the kernel has no pages for comes here.
    case requests
    case backed(Backing)
  }

  /// What becomes of an open.
  struct Decision: Hashable, Sendable {
    var way: Way
    /// The offer that was of no use, to be taken back.
    var surplus: Backing?

    init(way: Way, surplus: Backing? = nil) {
      self.way = way
      self.surplus = surplus
    }
  }

  private struct Node {
    var way: Way
    var handleCount: Int
  }

  /// At most so many files are registered at once.
  ///
  /// 16,384: the kernel holds each open outside of every limit of this process.
  static let backingCountMax = 16_384

  private var nodes: [NodeID: Node] = [:]
  private let backingCountMax: Int
  /// Files that are registered and in use.
  private(set) var backingCount = 0

  init(backingCountMax: Int = OpenModes.backingCountMax) {
    self.backingCountMax = backingCountMax
  }

  /// Whether the kernel reads `node` by itself now.
  func isBacked(_ node: NodeID) -> Bool {
    if case .backed = nodes[node]?.way { true } else { false }
  }

  /// Whether it makes sense to register a file for the next open of `node`.
  func hasUse(forBackingOf node: NodeID) -> Bool {
    nodes[node] == nil && backingCount < backingCountMax
  }

  /// `node` is about to be opened, with `offer` registered for it.
  mutating func opened(_ node: NodeID, offer: Backing?) -> Decision {
    if let open = nodes[node] {
      nodes[node]?.handleCount += 1
      return Decision(way: open.way, surplus: offer)
    }
    let way = offer.map { Way.backed($0) } ?? .requests
    if offer != nil { backingCount += 1 }
    nodes[node] = Node(way: way, handleCount: 1)
    return Decision(way: way)
  }

  /// An open file of `node` was released, or its opening had no taker.
  ///
  /// - Returns: the backing that nobody uses any more.
  mutating func closed(_ node: NodeID) -> Backing? {
    guard var open = nodes[node] else { return nil }
    open.handleCount -= 1
    nodes[node] = open.handleCount > 0 ? open : nil
    guard open.handleCount == 0, case .backed(let backing) = open.way else { return nil }
    backingCount -= 1
    return backing
  }
}
