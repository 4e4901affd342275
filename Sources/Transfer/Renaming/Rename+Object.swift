internal import Core
internal import Support

/// One object: its copy, and its removal from the old place.
extension Rename {
  /// What follows the old key in the journal of a single object.
  private static let rest: [UInt8] = []

  /// Copies the object and removes the old one; one that was replaced meanwhile stays, being another.
  ///
  /// - Returns: what is at the new key then.
  func carryOut(
    _ object: RenamedObject,
    _ record: RenameRecord
  ) async throws(TransferError) -> ObjectMetadata {
    let copy: ObjectMetadata
    do throws(TransferError) {
      copy = try await copied(object, record)
    } catch {
      try await copyFailed(object, record, error)
    }
    // Who cancels from here on waits for the end.
    return try await Shielded.run { () async throws(TransferError) in
      do throws(TransferError) {
        _ = try await delete(object.metadata)
      } catch {
        try await deletionFailed(object, record, error)
      }
      await end(record)
      return copy
    }
  }

  private func copied(
    _ object: RenamedObject,
    _ record: RenameRecord
  ) async throws(TransferError) -> ObjectMetadata {
    let source = object.metadata
    let condition = object.mayReplace ? WriteCondition.none : .ifAbsent
    func confirm(_ state: String) async {
      let copied = RenameJournal.Copied(source: object.version.state, target: state)
      await record.confirmed(Self.rest, copied)
    }
    if isWhole(source) {
      let copy = try await copyWhole(source, to: plan.target, condition, facts: object.facts)
      await confirm(copy.version.state)
      return copy
    }
    let progress = Lock(Progress())
    let stored = try await copyLarge(
      source,
      to: plan.target,
      condition,
      facts: object.facts,
      parallel: plan.parallel
    ) { [report] event in
      if let news = progress.withLock({ $0.take(event) }) { report(news) }
    }
    guard let tag = stored.etag else { return try await head(plan.target) }
    await confirm(tag.value)
    do throws(TransferError) {
      return try await head(plan.target)
    } catch  where !error.isSourceGone {
      // Only its time isn't in the answer: no reason to take it back.
      var made = ObjectMetadata(
        version: ObjectVersion(
          key: plan.target,
          etag: tag,
          size: source.size,
          lastModified: environment.time.wallTime.wholeSecond
        )
      )
      if let facts = object.facts {
        (made.headers, made.userMetadata) = (facts.headers, facts.userMetadata)
      }
      return made
    }
  }

  /// The copy failed: nothing has changed at either name, or it is found out and put right.
  private func copyFailed(
    _ object: RenamedObject,
    _ record: RenameRecord,
    _ error: TransferError
  ) async throws(TransferError) -> Never {
    guard record.copy(of: Self.rest) == nil else { try await failed(object, record, error) }
    guard error.isInDoubt else {
      if !isWhole(object.metadata) { await giveUpParts(object) }
      await end(record)
      throw error
    }
    guard isWhole(object.metadata) else {
      // The parts that are there are worth having: the same renaming goes on with them, and the next mount
      // gives them up.
      await record.undoing()
      throw error
    }
    try await failed(object, record, error)
  }

  /// The object is at its new key, and could not be removed from the old one.
  private func deletionFailed(
    _ object: RenamedObject,
    _ record: RenameRecord,
    _ error: TransferError
  ) async throws(TransferError) {
    do throws(TransferError) {
      guard try await found(object.version.key)?.version.state == object.version.state else {
        // It was removed all the same, or is another's now: that is what was wanted.
        return
      }
    } catch {
      // It is asked once more, below.
    }
    try await failed(object, record, error)
  }

  /// Takes the renaming back after a failure; if that fails, too, the journal stays and says so.
  private func failed(
    _ object: RenamedObject,
    _ record: RenameRecord,
    _ error: TransferError
  ) async throws(TransferError) -> Never {
    do throws(TransferError) {
      try await Shielded.run { () async throws(TransferError) in
        await record.undoing()
        try await takeBack(object, record)
      }
    } catch let second {
      logUnfinished(second)
    }
    throw error
  }

  /// Brings a renaming that was interrupted to its end.
  ///
  /// - Returns: what is at the new key, if the object is there now and nowhere else.
  func settle(
    _ object: RenamedObject,
    _ record: RenameRecord,
    isUndoing: Bool
  ) async throws(TransferError) -> ObjectMetadata? {
    guard !isUndoing else {
      await giveUpParts(object)
      try await takeBack(object, record)
      return nil
    }
    let source = try await found(plan.source)
    let target = try await found(plan.target)
    guard let source, source.version.state == object.version.state else {
      // Others have removed or replaced it, or it has been moved.
      await giveUpParts(object)
      await end(record)
      let isMoved = source == nil && target?.version.state == record.copy(of: Self.rest)?.target
      return isMoved ? target : nil
    }
    // What was at the new key before may have the same bytes: then only a copy makes it the same object.
    let isAsBefore = target?.version.state == object.replaced && record.copy(of: Self.rest) == nil
    if let target, !isAsBefore, try await isCopy(target, of: source, object, record) {
      let isDeleted = try await delete(source)
      await giveUpParts(object)
      await end(record)
      return isDeleted ? target : nil
    }
    guard isAsBefore else {
      // Somebody has taken the new name, or the copy was moved on: what is at either is all there is of it.
      environment.log.write(
        .warning,
        "a renaming that was interrupted is not finished: what is at the new name is not what it was; "
          + "both stay",
        ["from": "\(plan.source)", "to": "\(plan.target)"]
      )
      await giveUpParts(object)
      await end(record)
      return nil
    }
    return try await carryOut(object, record)
  }

  /// Removes the copy if the object is still at its old key and the copy replaced nothing.
  private func takeBack(
    _ object: RenamedObject,
    _ record: RenameRecord
  ) async throws(TransferError) {
    if let source = try await found(plan.source),
      source.version.state == object.version.state,
      let target = try await found(plan.target), target.version.state != object.replaced
    {
      let isOurs = try await isCopy(target, of: source, object, record)
      if isOurs, object.replaced == nil {
        _ = try await delete(target)
      } else {
        environment.log.write(
          .warning,
          isOurs
            ? "a renaming that failed is not taken back: the copy has replaced what was at the new name; "
              + "both names lead to the same bytes"
            : "a renaming failed, and whether what is at the new name is its copy can't be told; both stay",
          ["from": "\(plan.source)", "to": "\(plan.target)"]
        )
      }
    }
    await end(record)
  }

  /// What is at the new key is a copy of what is at the old one, and was made by this renaming.
  private func isCopy(
    _ target: ObjectMetadata,
    of source: ObjectMetadata,
    _ object: RenamedObject,
    _ record: RenameRecord
  ) async throws(TransferError) -> Bool {
    if let copy = record.copy(of: Self.rest), !copy.target.isEmpty {
      return copy.target == target.version.state
    }
    if target.hasBytes(of: source) { return true }
    guard !isWhole(source) else { return false }
    let made = try await largeCopy(of: object, parallel: 1).completed()
    return made?.etag != nil && made?.etag == target.version.etag
  }

  private func largeCopy(of object: RenamedObject, parallel: Int) -> ObjectCopy {
    let condition = object.mayReplace ? WriteCondition.none : .ifAbsent
    return largeCopy(
      of: object.metadata,
      to: plan.target,
      condition,
      facts: object.facts,
      parallel: parallel
    )
  }

  /// Gives up the parts of a copy that nobody will go on with.
  private func giveUpParts(_ object: RenamedObject) async {
    let copy = largeCopy(of: object, parallel: 1)
    do throws(TransferError) {
      _ = try await Shielded.run { () async throws(TransferError) in try await copy.abort() }
    } catch {
      environment.log.write(
        .warning,
        "the parts of a copy that was interrupted may be left at the store: \(error)",
        ["key": "\(plan.target)"]
      )
    }
  }

  /// Forgets the renaming; that its journal stays costs a look at the next mount, and is said.
  private func end(_ record: RenameRecord) async {
    do throws(TransferError) {
      try await record.remove()
    } catch {
      environment.log.write(.warning, "the journal of a renaming stays behind: \(error)")
    }
  }
}

extension Rename.Progress {
  /// Takes a part's news over.
  ///
  /// - Returns: the progress; nil if that is nothing new.
  fileprivate mutating func take(_ event: MultipartEvent) -> Rename.Progress? {
    switch event {
    case .started(let size, let partCount, let present):
      byteCount = size ?? 0
      keyCount = partCount
      byteCountDone = present
      keyCountDone = byteCount == 0 ? 0 : partCount * present / byteCount
    case .partFinished(_, let range):
      keyCountDone += 1
      byteCountDone += range.count
    default: return nil
    }
    return self
  }
}
