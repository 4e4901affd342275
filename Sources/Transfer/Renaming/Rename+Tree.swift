internal import Core
internal import Support

/// All keys that begin with a prefix: copied first, all of them, and then removed.
///
/// A source is deleted only when all are copied and a new listing shows it in the very state that was
/// copied. What others add or change under the old prefix meanwhile is taken along.
extension Rename {
  /// Others may go on adding keys while theirs are moved; after so many looks what is left stays.
  static let roundCountMax = 10

  /// Copies and deletes until nothing is left under the old prefix.
  ///
  /// - Parameters:
  ///   - record: the journal.
  ///   - isResumed: another process began it: what that has deleted isn't known, so there is no way back.
  /// - Returns: how many keys were left behind.
  /// - Throws: `TransferError`; what has been done is in the journal, or has been taken back.
  @discardableResult
  func carryOutTree(
    _ record: RenameRecord,
    isResumed: Bool = false
  ) async throws(TransferError) -> Int {
    var hasWayBack = !isResumed
    do throws(TransferError) {
      let others = isResumed ? try await adopt(record) : []
      for _ in 0..<Self.roundCountMax {
        let all = try await list(plan.source)
        let listed = others.isEmpty ? all : all.filter { !others.contains(rest($0)) }
        if listed.isEmpty { return try await finish(record, leftCount: all.count) }
        let uncopied = listed.filter { record.copy(of: rest($0))?.source != $0.version.state }
        guard uncopied.isEmpty else {
          try await copy(uncopied, of: listed, record)
          continue
        }
        // Who cancels from here on waits for the end.
        try await record.checkClaim()
        hasWayBack = false
        let refusal = try await Shielded.run { () async throws(TransferError) in
          try await delete(listed)
        }
        if let refusal {
          // A store that lets nobody delete has deleted nothing.
          hasWayBack = refusal.count == listed.count
          throw TransferError(refusal.first)
        }
      }
      return try await finish(record, leftCount: try await list(plan.source).count)
    } catch {
      if hasWayBack { await takeBack(record) }
      record.leave()
      throw error
    }
  }

  /// Looks what there is at the new place, when a process takes up what another began.
  ///
  /// A copy whose line is missing is known by its bytes. What has other bytes, and of which no line says
  /// that it was asked for, somebody else has put there.
  ///
  /// - Returns: what follows the beginning of the keys that others have at the new place.
  private func adopt(_ record: RenameRecord) async throws(TransferError) -> Set<[UInt8]> {
    let copies = Dictionary(
      try await list(plan.target)
        .map { (Array($0.key.bytes.dropFirst(plan.target.bytes.count)), $0) },
      uniquingKeysWith: { $1 }
    )
    guard !copies.isEmpty else { return [] }
    var others = Set<[UInt8]>()
    for object in try await list(plan.source) {
      let rest = rest(object)
      guard let copy = copies[rest], record.copy(of: rest)?.source != object.version.state else {
        continue
      }
      if copy.hasBytes(of: object) {
        record.moved(VersionMove(object.version, to: copy.version))
        let state = RenameJournal.Copied(
          source: object.version.state,
          target: copy.version.state
        )
        await record.confirmed(rest, state)
      } else if !record.isAsked(rest), record.copy(of: rest)?.target != copy.version.state {
        others.insert(rest)
      }
    }
    return others
  }

  /// Ends it; what is left is others', and stays where they put it.
  private func finish(
    _ record: RenameRecord,
    leftCount: Int
  ) async throws(TransferError) -> Int {
    if leftCount > 0 {
      environment.log.write(
        .warning,
        "a renaming leaves \(leftCount) keys under the old name: others go on adding some there, or have put "
          + "something else at the new one",
        ["from": "\(plan.source)", "to": "\(plan.target)"]
      )
    }
    try await record.remove()
    return leftCount
  }

  /// What follows the old prefix.
  private func rest(_ object: ObjectMetadata) -> [UInt8] {
    Array(object.key.bytes.dropFirst(plan.source.bytes.count))
  }

  /// All objects below a prefix.
  func list(_ prefix: ObjectKey) async throws(TransferError) -> [ObjectMetadata] {
    var objects: [ObjectMetadata] = []
    var list = ListRequest(prefix: prefix, isDelimited: false)
    var course = ListingCourse()
    while true {
      let page: ListPage
      do throws(StoreError) {
        page = try await store.list(list, context: context())
      } catch {
        throw TransferError(error)
      }
      objects += page.objects
      guard course.goesOn(withToken: page.nextToken, isNews: !page.objects.isEmpty) else {
        throw .store(
          StoreError(
            .invalidAnswer,
            .listObjects,
            key: prefix,
            message: "the store's listing goes round in circles"
          )
        )
      }
      guard let token = page.nextToken else { return objects }
      list.continuationToken = token
    }
  }

  /// Copies what isn't copied yet, so many at a time; after a failure none is begun any more.
  private func copy(
    _ uncopied: [ObjectMetadata],
    of listed: [ObjectMetadata],
    _ record: RenameRecord
  ) async throws(TransferError) {
    let progress = Lock(Progress(uncopied, of: listed))
    report(progress.withLock { $0 })
    let failure = await withTaskGroup(of: TransferError?.self) { group in
      var next = uncopied.makeIterator()
      var running = 0
      var first: TransferError?
      while true {
        while first == nil, !Task.isCancelled, running < max(1, plan.parallel),
          let object = next.next()
        {
          group.addTask {
            do throws(TransferError) {
              try await copy(object, record)
            } catch {
              return error
            }
            report(
              progress.withLock { progress in
                progress.keyCountDone += 1
                progress.byteCountDone += object.size
                return progress
              }
            )
            return nil
          }
          running += 1
        }
        guard running > 0, let ended = await group.next() else { break }
        running -= 1
        guard first == nil, let error = ended else { continue }
        first = error
        group.cancelAll()
      }
      return first
    }
    if let failure { throw failure }
    if Task.isCancelled { throw .paused }
  }

  /// Copies one object; one that was replaced or removed meanwhile is the next look's business.
  private func copy(_ object: ObjectMetadata, _ record: RenameRecord) async throws(TransferError) {
    let rest = rest(object)
    let key = ObjectKey(plan.target.bytes + rest)
    await record.asks(rest, object.version.state)
    do throws(TransferError) {
      let move = try await copied(object, to: key)
      record.moved(move)
      await record.confirmed(
        rest,
        RenameJournal.Copied(source: object.version.state, target: move.target.state)
      )
    } catch {
      switch error {
      case .sourceChanged: return
      case .store(let failure) where failure.kind == .notFound:
        guard object.size == 0, object.key.isDirectoryMarker else { return }
        let target = try await putMarker(key).version.state
        await record.confirmed(
          rest,
          RenameJournal.Copied(source: object.version.state, target: target)
        )
      default: throw error
      }
    }
  }

  private func copied(
    _ object: ObjectMetadata,
    to key: ObjectKey
  ) async throws(TransferError) -> VersionMove {
    if isWhole(object) { return try await copyAsListed(object, to: key) }
    let stored = try await copyLarge(object, to: key, parallel: Self.parallelOfLarge)
    let target = ObjectVersion(
      key: key,
      etag: stored.etag,
      size: object.size,
      lastModified: environment.time.wallTime.wholeSecond
    )
    return VersionMove(object.version, to: target)
  }

  /// Parts in flight of each large object, of which there may be as many in flight as of small ones.
  private static let parallelOfLarge = 8

  /// A listing's tag isn't HEAD's everywhere (SeaweedFS, of a directory's marker), so where the condition
  /// fails it is asked for.
  ///
  /// Has it changed, then a later listing tells that, too.
  private func copyAsListed(
    _ object: ObjectMetadata,
    to key: ObjectKey
  ) async throws(TransferError) -> VersionMove {
    do throws(TransferError) {
      return VersionMove(object.version, to: try await copyWhole(object, to: key).version)
    } catch {
      guard case .sourceChanged = error else { throw error }
      var found = try await head(object.key)
      found.storageClass = object.storageClass
      return VersionMove(found.version, to: try await copyWhole(found, to: key).version)
    }
  }

  /// Objects that the store refused to remove.
  private struct Refusal: Sendable {
    /// Why, for the first of them.
    let first: StoreError
    let count: Int
  }

  /// Removes objects of which a listing has just shown that they are as they were copied.
  ///
  /// What lies in a directory goes before its marker: a store that keeps directories of its own can't remove
  /// one that isn't empty, and may go on listing it (SeaweedFS).
  private func delete(_ objects: [ObjectMetadata]) async throws(TransferError) -> Refusal? {
    let failures: [ObjectKey: StoreError]
    do throws(StoreError) {
      failures = try await store.delete(
        objects.map(\.key).reversed(),
        context: context(Self.copyPatience)
      )
    } catch {
      throw TransferError(error)
    }
    let first = failures.min { $0.key < $1.key }
    return first.map { Refusal(first: $0.value, count: failures.count) }
  }

  /// Takes it back after a failure; if that fails, too, the journal stays and says so.
  private func takeBack(_ record: RenameRecord) async {
    do throws(TransferError) {
      try await Shielded.run { () async throws(TransferError) in
        // Whoever has taken it over goes forward.
        try await record.checkClaim()
        await record.undoing()
        try await undo(record)
      }
    } catch {
      logUnfinished(error)
    }
  }

  /// Says that the journal stays.
  func logUnfinished(_ error: TransferError) {
    environment.log.write(
      .warning,
      "a renaming could be neither finished nor taken back yet; the next mount tries again: \(error)",
      ["from": "\(plan.source)", "to": "\(plan.target)"]
    )
  }

  /// Removes the copies whose source is still there, and forgets the renaming.
  ///
  /// A copy is what the journal says; of one whose answer was lost it can't say more than that it was asked
  /// for. One whose source others have removed meanwhile is all there is of it, and stays.
  func undo(_ record: RenameRecord) async throws(TransferError) {
    let copies = try await list(plan.target)
    if !copies.isEmpty {
      let sources = Dictionary(
        try await list(plan.source).map { (rest($0), $0.version) },
        uniquingKeysWith: { $1 }
      )
      let ours = copies.filter { copy in
        let rest = Array(copy.key.bytes.dropFirst(plan.target.bytes.count))
        guard let source = sources[rest] else { return false }
        if let made = record.copy(of: rest), !made.target.isEmpty {
          return made.target == copy.version.state
        }
        return record.isAsked(rest) && source.size == copy.size
      }
      if !ours.isEmpty, let refusal = try await delete(ours) { throw TransferError(refusal.first) }
    }
    try await record.remove()
  }
}

extension Rename.Progress {
  /// What is known after a look.
  fileprivate init(_ uncopied: [ObjectMetadata], of listed: [ObjectMetadata]) {
    keyCount = listed.count
    keyCountDone = listed.count - uncopied.count
    byteCount = listed.reduce(0) { $0 + $1.size }
    byteCountDone = byteCount - uncopied.reduce(0) { $0 + $1.size }
  }
}
