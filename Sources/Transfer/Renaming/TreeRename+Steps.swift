internal import Core
internal import Support

extension TreeRename {
  /// How long one request takes that copies an object, beside the time its bytes need.
  private static let copyPatience = Duration.seconds(120)
  /// A store that copies less than this per second is taken for dead.
  private static let byteRateMin = 1 << 20

  /// Copies what isn't copied yet, so many at a time; after a failure none is begun any more.
  func copy(
    _ uncopied: [ObjectMetadata],
    of listed: [ObjectMetadata],
    _ record: RenameRecord
  ) async throws(TransferError) {
    let progress = Lock(Self.progress(uncopied, of: listed))
    report(progress.withLock { $0 })
    let failure = await withTaskGroup(of: TransferError?.self) { group in
      var next = uncopied.makeIterator()
      var running = 0
      var first: TransferError?
      while true {
        while first == nil, !Task.isCancelled, running < max(1, request.parallel),
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

  private static func progress(
    _ uncopied: [ObjectMetadata],
    of listed: [ObjectMetadata]
  ) -> Progress {
    var progress = Progress()
    progress.keyCount = listed.count
    progress.keyCountDone = listed.count - uncopied.count
    progress.byteCount = listed.reduce(0) { $0 + $1.size }
    progress.byteCountDone = progress.byteCount - uncopied.reduce(0) { $0 + $1.size }
    return progress
  }

  /// Copies one object; one that was replaced or removed meanwhile is the next look's business.
  private func copy(_ object: ObjectMetadata, _ record: RenameRecord) async throws(TransferError) {
    let rest = rest(object)
    let key = ObjectKey(request.target.bytes + rest)
    record.attempts(rest, object.version.state)
    let most = store.capabilities.singleRequestSizeMax
    do throws(TransferError) {
      let target =
        object.size <= min(request.wholeSizeMax ?? most, most)
        ? try await copyWhole(object, to: key) : try await copyLarge(object, to: key)
      await record.confirmed(
        rest,
        RenameJournal.Copied(source: object.version.state, target: target)
      )
    } catch {
      switch error {
      case .sourceChanged: return
      case .store(let failure) where failure.kind == .notFound:
        // Some stores list a directory's marker and have no object there that could be copied (SeaweedFS).
        guard object.size == 0, object.key.bytes.last == UInt8(ascii: "/") else { return }
        let target = try await putMarker(key)
        await record.confirmed(
          rest,
          RenameJournal.Copied(source: object.version.state, target: target)
        )
      default: throw error
      }
    }
  }

  private func putMarker(_ key: ObjectKey) async throws(TransferError) -> String {
    do throws(StoreError) {
      let marker = PutRequest(key: key, contentType: "application/x-directory")
      return try await store.put(marker, body: .empty, context: context()).version.state
    } catch {
      throw TransferError(error)
    }
  }

  /// One request copies it, with all that belongs to it.
  ///
  /// A listing's tag isn't HEAD's everywhere (SeaweedFS, of a directory's marker), so where the condition
  /// fails it is asked for. Has it changed, then a later listing tells that, too.
  private func copyWhole(
    _ object: ObjectMetadata,
    to key: ObjectKey
  ) async throws(TransferError) -> String {
    do throws(TransferError) {
      return try await copyByOneRequest(object, to: key)
    } catch {
      guard case .sourceChanged = error else { throw error }
      var found: ObjectMetadata
      do throws(StoreError) {
        found = try await store.head(object.key, versionID: nil, ifMatch: nil, context: context())
      } catch let failure {
        throw TransferError(failure)
      }
      found.storageClass = object.storageClass
      return try await copyByOneRequest(found, to: key)
    }
  }

  private func copyByOneRequest(
    _ object: ObjectMetadata,
    to key: ObjectKey
  ) async throws(TransferError) -> String {
    var source = CopySource(key: object.key, ifMatch: object.version.etag)
    if object.version.etag == nil {
      source.conditions.ifUnmodifiedSince = object.version.lastModified
    }
    // A store gives a copy its standard class unless it is told another.
    let target = PutRequest(key: key, storageClass: object.storageClass)
    let patience = Self.copyPatience + .seconds(object.size / Self.byteRateMin)
    do throws(StoreError) {
      let copied = try await store.copy(
        CopyRequest(source: source, target: target),
        context: context(patience)
      )
      return copied.version.state
    } catch {
      throw error.kind == .preconditionFailed
        ? .sourceChanged(was: object.version, isNow: nil) : TransferError(error)
    }
  }

  private func copyLarge(
    _ object: ObjectMetadata,
    to key: ObjectKey
  ) async throws(TransferError) -> String {
    var copy = ObjectCopyRequest(
      from: object.key,
      of: request.storeName,
      to: key,
      of: request.storeName
    )
    copy.conditions.ifMatch = object.version.etag
    copy.wholeSizeMax = request.wholeSizeMax
    copy.partSize = request.partSize
    copy.limits = request.limits
    copy.retryCountMax = request.retryCountMax
    copy.checkpoint = request.journalDirectory
    let task = ObjectCopy(copy, from: store, to: store, in: environment, faults: faults)
    do throws(TransferError) {
      let stored = try await task.run()
      return stored.etag?.value ?? ""
    } catch {
      // The checkpoint of another state of the source is of no use to the next look.
      if case .sourceChanged = error { try? await task.abort() }
      if case .store(let failure) = error, failure.kind == .preconditionFailed {
        throw .sourceChanged(was: object.version, isNow: nil)
      }
      throw error
    }
  }

  /// Objects that the store refused to remove.
  struct Refusal: Sendable {
    /// Why, for the first of them.
    let first: StoreError
    let count: Int
  }

  /// Removes objects of which a listing has just shown that they are as they were copied.
  ///
  /// What lies in a directory goes before its marker: a store that keeps directories of its own can't remove
  /// one that isn't empty, and may go on listing it (SeaweedFS).
  func delete(_ objects: [ObjectMetadata]) async throws(TransferError) -> Refusal? {
    let failures: [ObjectKey: StoreError]
    do throws(StoreError) {
      failures = try await store.delete(
        objects.map(\.key).reversed(),
        context: context(Self.copyPatience)
      )
    } catch {
      throw TransferError(error)
    }
    let first = failures.min { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }
    return first.map { Refusal(first: $0.value, count: failures.count) }
  }

  /// Takes it back after a failure; if that fails, too, the journal stays and says so.
  func takeBack(_ record: RenameRecord) async {
    do throws(TransferError) {
      try await Shielded.run { () async throws(TransferError) in
        await record.undoing()
        try await undo(record)
      }
    } catch {
      environment.log.write(
        .warning,
        "a renaming could be neither finished nor taken back yet; it is tried again: \(error)",
        ["key": "\(request.source)"]
      )
    }
  }

  /// Removes the copies whose source is still there, and forgets the renaming.
  ///
  /// A copy is what the journal says; of one whose answer was lost it can't say more than that it was asked
  /// for. One whose source others have removed meanwhile is all there is of it, and stays.
  func undo(_ record: RenameRecord) async throws(TransferError) {
    let copies = try await list(request.target)
    if !copies.isEmpty {
      let sources = Dictionary(
        try await list(request.source).map { (rest($0), $0.version) },
        uniquingKeysWith: { $1 }
      )
      let ours = copies.filter { copy in
        let rest = Array(copy.key.bytes.dropFirst(request.target.bytes.count))
        guard let source = sources[rest], let made = record.copy(of: rest) else { return false }
        return made.target == copy.version.state
          || (made.target.isEmpty && source.size == copy.size)
      }
      if !ours.isEmpty, let refusal = try await delete(ours) { throw TransferError(refusal.first) }
    }
    try await record.remove()
  }
}
