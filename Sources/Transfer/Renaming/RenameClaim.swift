internal import Core
internal import Support

/// A process's hold on a renaming of many keys, as its marker in the bucket says.
///
/// One request begins it and one ends it; a renaming that takes longer renews it now and then, on the
/// condition that nobody has taken it over, where the store looks at such conditions. Where it doesn't,
/// two processes may both believe to have it; they can then do work twice, but lose no key, since either
/// deletes only what it knows to be copied.
final class RenameClaim: Sendable {
  private struct State {
    var version: ObjectVersion
    /// Until when others take it for held, by this process's clock.
    var heldUntil: Instant
    var isLost = false
    var isOver = false
    var timer: Task<Void, Never>?
  }

  /// How often it is renewed in the time that it holds.
  private static let renewalsPerLease = 3

  private let key: ObjectKey
  private let marker: RenameMarker
  private let rename: Rename
  private let state: Lock<State>

  private init(_ key: ObjectKey, _ marker: RenameMarker, _ version: ObjectVersion, _ rename: Rename)
  {
    self.key = key
    self.marker = marker
    self.rename = rename
    state = Lock(State(version: version, heldUntil: Self.heldUntil(rename.environment.time.now)))
  }

  private static func heldUntil(_ now: Instant) -> Instant {
    // With a margin for the request that renewed it.
    now + RenameMarker.lease / 2
  }

  /// Puts the marker of a renaming that begins, or is taken up again by the machine that began it.
  ///
  /// - Returns: nil if the plan has no place for one, or the bucket takes none; nobody else can finish the
  ///   renaming then.
  /// - Throws: `.held` if another process has it.
  static func begin(_ rename: Rename) async throws(TransferError) -> RenameClaim? {
    guard let key = rename.plan.markerKey else { return nil }
    let marker = RenameMarker(rename.plan, began: rename.environment.time.wallTime)
    do throws(StoreError) {
      let version = try await rename.put(marker, at: key, .ifAbsent)
      return RenameClaim(key, marker, version, rename).renewing()
    } catch {
      switch error.kind {
      case .alreadyExists, .preconditionFailed: return try await takeUp(key, marker, rename)
      case .unreachable, .timedOut, .throttled, .serverFailure, .offline, .cancelled:
        throw TransferError(error)
      default:
        rename.environment.log.write(
          .info,
          "a renaming is begun without a marker in the bucket, so no other machine could finish it: \(error)",
          ["key": "\(key)"]
        )
        return nil
      }
    }
  }

  /// There is a marker already.
  private static func takeUp(
    _ key: ObjectKey,
    _ marker: RenameMarker,
    _ rename: Rename
  ) async throws(TransferError) -> RenameClaim {
    let found: MarkedRenaming
    do throws(StoreError) {
      found = try await rename.marked(at: key)
    } catch {
      throw TransferError(error)
    }
    // The marker's time is the store's.
    let now = rename.store.storeTime(at: rename.environment.time.wallTime)
    guard marker.isOurs(found.marker) || !found.isAlive(at: now) else {
      throw .held(path: "\(key)", by: found.marker.holder)
    }
    return try await take(found, rename)
  }

  /// Takes over a renaming whose process is dead.
  ///
  /// - Throws: `.held` if another process was faster.
  static func take(
    _ found: MarkedRenaming,
    _ rename: Rename
  ) async throws(TransferError) -> RenameClaim {
    let marker = RenameMarker(rename.plan, began: found.marker.began)
    do throws(StoreError) {
      let condition = found.version.etag.map { WriteCondition.ifMatch($0) } ?? .none
      let version = try await rename.put(marker, at: found.key, condition)
      return RenameClaim(found.key, marker, version, rename).renewing()
    } catch {
      guard error.isRefusedCondition || error.kind == .notFound else { throw TransferError(error) }
      throw .held(path: "\(found.key)", by: "another process, which has just taken it")
    }
  }

  /// Makes sure that it is held: before anything is deleted.
  ///
  /// - Throws: `.held` if it isn't any more.
  func check() async throws(TransferError) {
    let (isLost, heldUntil) = state.withLock { ($0.isLost, $0.heldUntil) }
    if isLost { throw lost }
    guard rename.environment.time.now >= heldUntil else { return }
    try await renew()
  }

  private var lost: TransferError {
    .held(path: "\(key)", by: "another process, which has taken it over")
  }

  private func renew() async throws(TransferError) {
    let version = state.withLock { $0.version }
    let now = rename.environment.time.now
    do throws(StoreError) {
      let condition = version.etag.map { WriteCondition.ifMatch($0) } ?? .none
      let renewed = try await rename.put(marker, at: key, condition)
      state.withLock { state in
        state.version = renewed
        state.heldUntil = Self.heldUntil(now)
      }
    } catch {
      guard error.isRefusedCondition || error.kind == .notFound else { throw TransferError(error) }
      state.withLock { $0.isLost = true }
      throw lost
    }
  }

  /// Renews it for as long as the renaming takes.
  private func renewing() -> RenameClaim {
    let timers = rename.environment.timers
    let time = rename.environment.time
    let task = Task { [weak self] in
      while !Task.isCancelled {
        await timers.sleep(until: time.now + RenameMarker.lease / Self.renewalsPerLease)
        guard !Task.isCancelled, let self, !state.withLock({ $0.isOver || $0.isLost }) else {
          return
        }
        // What fails is tried again, and before a deletion it must succeed.
        try? await renew()
      }
    }
    state.withLock { $0.timer = task }
    return self
  }

  /// The renaming is over: takes the marker away.
  func end() async {
    let (isLost, timer) = state.withLock { state in
      state.isOver = true
      return (state.isLost, state.timer)
    }
    timer?.cancel()
    guard !isLost else { return }
    do throws(StoreError) {
      try await rename.store.delete(key, ifMatch: nil, context: rename.context())
    } catch {
      rename.environment.log.write(
        .warning,
        "the marker of a renaming that is over stays in the bucket: \(error)",
        ["key": "\(key)"]
      )
    }
  }

  /// The renaming is left to who comes next; the marker stays.
  func leave() {
    let timer = state.withLock { state in
      state.isOver = true
      return state.timer
    }
    timer?.cancel()
  }
}

extension Rename {
  /// Puts a marker.
  fileprivate func put(
    _ marker: RenameMarker,
    at key: ObjectKey,
    _ condition: WriteCondition
  ) async throws(StoreError) -> ObjectVersion {
    let metadata = marker.metadata
    let request = PutRequest(
      key: key,
      condition: condition,
      contentType: "text/plain",
      userMetadata: metadata ?? [:]
    )
    let body = metadata == nil ? BodySource.bytes(Array(marker.text.utf8)) : .empty
    return try await store.put(request, body: body, context: context()).version
  }

  /// Reads a marker.
  func marked(at key: ObjectKey) async throws(StoreError) -> MarkedRenaming {
    let metadata = try await store.head(key, versionID: nil, ifMatch: nil, context: context())
    func invalid(_ reason: String) -> StoreError {
      StoreError(.invalidAnswer, .getObject, key: key, message: reason)
    }
    do throws(Checkpoint.ParseError) {
      if let marker = try RenameMarker(metadata.userMetadata ?? [:]) {
        return MarkedRenaming(key: key, marker: marker, version: metadata.version)
      }
    } catch {
      throw invalid("it is no marker of a renaming that this version can read: \(error)")
    }
    guard 1...RenameMarker.sizeMax ~= metadata.size else {
      throw invalid("it is no marker of a renaming: it has \(metadata.size) bytes")
    }
    let sink = MarkerSink()
    let range = ByteRange(0, metadata.size)
    let request = GetRequest(version: metadata.version, range: range)
    _ = try await store.get(request, into: sink, context: context())
    do throws(Checkpoint.ParseError) {
      let marker = try RenameMarker(parsing: sink.bytes)
      return MarkedRenaming(key: key, marker: marker, version: metadata.version)
    } catch {
      throw invalid("it is no marker of a renaming that this version can read: \(error)")
    }
  }
}

/// Keeps the few bytes of a marker.
private final class MarkerSink: BodySink {
  private let taken = Lock([UInt8]())

  var bytes: [UInt8] { taken.withLock { $0 } }

  func receive(_ bytes: RawSpan, at offset: Int) {
    taken.withLock { taken in
      // A transfer that is repeated begins anew.
      taken.removeLast(max(0, taken.count - offset))
      bytes.withUnsafeBytes { taken.append(contentsOf: $0) }
    }
  }
}
