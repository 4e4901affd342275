/// Tells a long listing from one that never ends, from what is seen of each page.
///
/// A page may be empty although more follows, but not for ever; a token that comes again leads
/// round in circles; and keys that can't be shown fill no log.
package struct ListingCourse: Sendable {
  /// A store that answers this often in a row with nothing new but "more follows" never ends.
  package static let idlePageCountMax = 1000
  /// So many of a listing's keys that can't be shown are told one by one.
  package static let toldCountMax = 100

  // Hashes, since a store may make its tokens as long as it likes.
  private var seenTokens: Set<Int> = []
  private var idlePageCount = 0
  private var rejectionCount = 0

  /// Begins a listing.
  package init() {}

  /// A page came.
  ///
  /// - Parameters:
  ///   - token: what asks for the next page; nil on the last.
  ///   - isNews: whether it had anything that wasn't known.
  /// - Returns: false if the listing goes round in circles.
  package mutating func goesOn(withToken token: String?, isNews: Bool) -> Bool {
    guard let token else { return true }
    idlePageCount = isNews ? 0 : idlePageCount + 1
    return seenTokens.insert(token.hashValue).inserted && idlePageCount < Self.idlePageCountMax
  }

  /// A key can't be shown; true if that is told.
  package mutating func tells() -> Bool {
    rejectionCount += 1
    return rejectionCount <= Self.toldCountMax
  }

  /// The number of keys that can't be shown and weren't told.
  package var untoldCount: Int { max(0, rejectionCount - Self.toldCountMax) }
}
