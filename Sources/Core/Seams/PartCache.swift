/// The bytes of object versions on local disk, fetched as they are asked for: the seam between
/// random-access files and the cache.
///
/// Conformers: `ObjectCache` (Caching) and a simulation in the tests of what lies above.
package protocol PartCache: AnyObject, Sendable {
  /// Opens the cached bytes of `version`, creating an empty entry if there is none. The entry can't
  /// be evicted while the returned object lives.
  ///
  /// - Throws: `DiskFailure` if the cache can't be used for it; the caller reads uncached then.
  func open(_ version: ObjectVersion) throws(DiskFailure) -> any CachedObject

  /// Opens the cached bytes of `version` if some of them are on disk already; makes nothing.
  func openCached(_ version: ObjectVersion) -> (any CachedObject)?

  /// Bytes of `version` in the cache; 0 if there are none. Does not open it.
  func cachedByteCount(of version: ObjectVersion) -> Int

  /// What of `version` is in the cache, on its way, and absent. Does not open it.
  func map(of version: ObjectVersion) -> CacheMap

  /// Drops the cached bytes of `version`, unless somebody has it open.
  ///
  /// Whoever has it open may be reading its bytes from the file at any time, so all of it stays.
  ///
  /// - Returns: bytes freed on the disk; nil if it is open, or can't be removed, and stays.
  func evict(_ version: ObjectVersion) -> Int?

  /// The store has moved versions to new keys: what the cache has of each is the new version's from now on,
  /// as far as it can be taken along.
  ///
  /// Of a version that somebody has open it is taken along when they let go.
  func follow(_ moves: [VersionMove]) async

  /// Fetches all of `version` that is not in the cache, behind everything that readers wait for, and
  /// returns when the cache has it all, verified and recorded.
  ///
  /// Cancelling the task ends it; what arrived stays. Of the same version, readers and other calls
  /// share the fetches.
  ///
  /// - Parameters:
  ///   - version: what to fetch.
  ///   - progress: is told now and then how many bytes the cache has.
  /// - Throws: `FetchError`: `.cancelled`, `.changed`, `.disk` if the cache can't keep it, `.deadline`
  ///   if nothing of it arrived for as long as a reader would wait.
  func warm(
    _ version: ObjectVersion,
    progress: @escaping @Sendable (Int) -> Void
  ) async throws(FetchError)
}

/// The bytes of one object version: some on disk, some on their way, the rest to be had on demand.
package protocol CachedObject: AnyObject, Sendable {
  /// The version.
  var version: ObjectVersion { get }

  /// Bytes on disk.
  var cachedByteCount: Int { get }

  /// What is known of the way to the store; nil if nothing is.
  var link: Link? { get }

  /// Reads `range`, which lies inside the object and is not empty.
  ///
  /// If the bytes are on disk and verified the answer is immediate and nothing is allocated. Otherwise
  /// `waiter` is made and told once, as soon as just these bytes are there or can't be had; the fetches
  /// of `plan` that aren't under way yet are started. It may be told from any thread, and before this
  /// call returns. A `makeWaiter` that makes none declines: nothing is fetched or waited for, and the
  /// answer is `.failed(.cancelled)`.
  func read(
    _ range: ByteRange,
    plan: FetchPlan,
    makeWaiter: () -> (any ReadWaiter)?
  ) -> ReadStart

  /// Starts the fetches of `plan` that aren't on disk or under way, without waiting for them.
  func prefetch(_ plan: FetchPlan)

  /// Gives up a wait; the waiter is told `.cancelled` unless it has been told something already.
  func cancel(_ wait: WaitID)

  /// The reader that wanted `ranges` ahead of itself has gone elsewhere: fetches of them that nobody
  /// waits for end. What they have is kept; one that is almost done goes on. Whoever closes a file
  /// abandons what was wanted for it.
  func abandonPrefetch(of ranges: [ByteRange])

  /// The file that holds every byte of the object, each verified in this process; nil while there is
  /// none. It has the object's size, stays open while the object lives, and its bytes don't change.
  ///
  /// What is on disk and not verified yet is verified first, on this thread, if the object has at
  /// most `verifiedSizeMax` bytes.
  func wholeFile(verifiedSizeMax: Int) -> Int32?
}

// A cache that has no whole files to show, or takes nothing along, need not say so.
extension PartCache {
  package func openCached(_ version: ObjectVersion) -> (any CachedObject)? { nil }
  package func follow(_ moves: [VersionMove]) async {}
}

extension CachedObject {
  package func wholeFile(verifiedSizeMax: Int) -> Int32? { nil }
}

extension CachedObject {
  /// Nothing is known.
  package var link: Link? { nil }
}

/// What a read wants fetched: the unit for its own missing bytes and what to have ahead.
package struct FetchPlan: Hashable, Sendable {
  /// Ranges for the read's own missing bytes, covering them; each becomes at most one request.
  package var demand: [ByteRange]
  /// Ranges to fetch ahead, nearest first; each becomes at most one request.
  package var ahead: [ByteRange]
  /// The reader goes forward through what is on its way, so it wants the bytes before these too.
  package var isInOrder: Bool

  /// Creates a plan.
  package init(demand: [ByteRange], ahead: [ByteRange] = [], isInOrder: Bool = false) {
    self.demand = demand
    self.ahead = ahead
    self.isInOrder = isInOrder
  }
}

/// How a read began.
package enum ReadStart: Sendable {
  /// The bytes are in this open file at their own offset; it stays open while the object lives.
  case ready(descriptor: Int32)
  /// The waiter will be told.
  case waiting(WaitID)
  /// They can't be had.
  case failed(FetchError)
}

/// Names one wait for bytes.
package struct WaitID: Hashable, Sendable {
  /// The number.
  package let rawValue: UInt64
  /// Creates an id.
  package init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// Waits for bytes.
package protocol ReadWaiter: AnyObject, Sendable {
  /// The bytes are on disk, in this open file at their own offset. Called once at most, and never
  /// after `failed`.
  func served(from descriptor: Int32)
  /// The bytes themselves, all of the range, because the disk can't take them.
  ///
  /// Called instead of `served(from:)`.
  func served(_ bytes: [UInt8])
  /// They can't be had. Called once at most, and never after `served`.
  func failed(_ error: FetchError)
}
