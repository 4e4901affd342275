import Core
import Glibc
import Simulation
import Support

/// A cache that keeps the bytes it was asked for in unlinked files, and fetches exactly the plans.
final class SimulatedPartCache: PartCache {
  private let store: any ObjectStore
  private let time: any TimeSource
  private let objects = Lock([ObjectVersion: SimulatedCachedObject]())
  /// Set to have every opening fail so.
  let openFailure = Lock(DiskFailure?.none)
  /// What was said to have moved.
  let followed = Lock([VersionMove]())
  /// What was abandoned.
  let abandoned = Lock([ByteRange]())

  init(store: any ObjectStore, time: any TimeSource) {
    self.store = store
    self.time = time
  }

  func open(_ version: ObjectVersion) throws(DiskFailure) -> any CachedObject {
    if let failure = openFailure.withLock({ $0 }) { throw failure }
    if let object = objects.withLock({ $0[version] }) { return object }
    let object = try SimulatedCachedObject(version, store: store, time: time) { [self] ranges in
      abandoned.withLock { $0 += ranges }
    }
    return objects.withLock { objects in
      let object = objects[version] ?? object
      objects[version] = object
      return object
    }
  }

  func openCached(_ version: ObjectVersion) -> (any CachedObject)? {
    objects.withLock { $0[version] }
  }

  func cachedByteCount(of version: ObjectVersion) -> Int {
    objects.withLock { $0[version] }?.cachedByteCount ?? 0
  }

  func map(of version: ObjectVersion) -> CacheMap {
    objects.withLock { $0[version] }?.map ?? CacheMap(size: version.size, cached: ByteRangeSet())
  }

  func follow(_ moves: [VersionMove]) async {
    followed.withLock { $0 += moves }
  }

  func evict(_ version: ObjectVersion) -> Int? {
    // The file lives on with whoever has it open, so that no read of it ever goes wrong.
    objects.withLock { $0.removeValue(forKey: version) }?.cachedByteCount ?? 0
  }

  func warm(
    _ version: ObjectVersion,
    progress: @escaping @Sendable (Int) -> Void
  ) async throws(FetchError) {
    let object: any CachedObject
    do throws(DiskFailure) {
      object = try open(version)
    } catch {
      throw .disk(error)
    }
    if version.size > 0 {
      switch await object.bytes(ByteRange(0, version.size)) {
      case .success: break
      case .failure(let error): throw error
      }
    }
    progress(object.cachedByteCount)
  }

  /// Waits now in all objects.
  var waitCount: Int { objects.withLock { $0.values.reduce(0) { $0 + $1.waitCount } } }
}

/// The bytes of one version.
final class SimulatedCachedObject: CachedObject {
  private struct Wait {
    let range: ByteRange
    let waiter: any ReadWaiter
  }

  private struct State {
    var have = ByteRangeSet()
    var underWay = ByteRangeSet()
    var waits: [WaitID: Wait] = [:]
    var lastWait: UInt64 = 0

    mutating func takeWaits(where isDone: (Wait) -> Bool) -> [Wait] {
      let done = waits.filter { isDone($0.value) }
      for id in done.keys { waits[id] = nil }
      return Array(done.values)
    }
  }

  let version: ObjectVersion
  private let store: any ObjectStore
  private let time: any TimeSource
  private let file: FileDescriptor
  private let onAbandon: @Sendable ([ByteRange]) -> Void
  private let state = Lock(State())

  init(
    _ version: ObjectVersion,
    store: any ObjectStore,
    time: any TimeSource,
    onAbandon: @escaping @Sendable ([ByteRange]) -> Void
  ) throws(DiskFailure) {
    self.version = version
    self.store = store
    self.time = time
    self.onAbandon = onAbandon
    file = try UnnamedFile.make()
  }

  var cachedByteCount: Int { state.withLock { $0.have.byteCount } }
  var waitCount: Int { state.withLock { $0.waits.count } }
  var map: CacheMap {
    state.withLock { CacheMap(size: version.size, cached: $0.have, underWay: $0.underWay) }
  }

  func read(
    _ range: ByteRange,
    plan: FetchPlan,
    makeWaiter: () -> (any ReadWaiter)?
  ) -> ReadStart {
    let start: ReadStart = state.withLock { state in
      guard !state.have.contains(range) else { return .ready(descriptor: file.number) }
      guard let waiter = makeWaiter() else { return .failed(.cancelled) }
      state.lastWait += 1
      let id = WaitID(state.lastWait)
      state.waits[id] = Wait(range: range, waiter: waiter)
      return .waiting(id)
    }
    if case .failed = start { return start }
    prefetch(plan)
    return start
  }

  func prefetch(_ plan: FetchPlan) {
    for range in plan.demand + plan.ahead {
      let gaps = state.withLock { state in
        var known = state.have
        for other in state.underWay.ranges { known.insert(other) }
        let gaps = known.gaps(in: range)
        for gap in gaps { state.underWay.insert(gap) }
        return gaps
      }
      for gap in gaps { Task { await fetch(gap) } }
    }
  }

  func cancel(_ wait: WaitID) {
    state.withLock { $0.waits.removeValue(forKey: wait) }?.waiter.failed(.cancelled)
  }

  func abandonPrefetch(of ranges: [ByteRange]) { onAbandon(ranges) }

  func wholeFile(verifiedSizeMax: Int) -> Int32? {
    cachedByteCount == version.size ? file.number : nil
  }

  private func fetch(_ range: ByteRange) async {
    let context = RequestContext(deadline: time.now + .seconds(60))
    do throws(StoreError) {
      _ = try await store.get(
        GetRequest(version: version, range: range),
        into: Sink(self),
        context: context
      )
    } catch {
      let failure: FetchError =
        error.kind == .preconditionFailed ? .changed(error) : .store(error)
      let waits = state.withLock { state in
        state.underWay.remove(range)
        return state.takeWaits { $0.range.overlaps(range) }
      }
      for wait in waits { wait.waiter.failed(failure) }
      return
    }
    state.withLock { $0.underWay.remove(range) }
  }

  private final class Sink: BodySink {
    private let object: SimulatedCachedObject

    init(_ object: SimulatedCachedObject) { self.object = object }

    func receive(_ bytes: RawSpan, at offset: Int) throws(DiskFailure) {
      let object = object
      var failure: DiskFailure?
      bytes.withUnsafeBytes { buffer in
        do throws(DiskFailure) {
          try object.file.write(buffer, at: offset)
        } catch {
          failure = error
        }
      }
      if let failure { throw failure }
      let range = ByteRange(offset: offset, count: bytes.byteCount)
      let waits = object.state.withLock { state in
        state.have.insert(range)
        let have = state.have
        return state.takeWaits { have.contains($0.range) }
      }
      for wait in waits { wait.waiter.served(from: object.file.number) }
    }
  }
}
