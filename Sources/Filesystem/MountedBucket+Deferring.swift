internal import Core
internal import ObjectFiles
internal import Support

// What is set of a file that is closed, or of a directory, is stored a moment later: programs set owner, mode
// and time one after the other, and rename the file then.
extension MountedBucket {
  /// Stores a draft that nobody writes: now, or a moment later with what else is set until then.
  ///
  /// It is journaled on the local disk meanwhile. Call it with the turn of the draft's key.
  func store(_ draft: Draft, mayWait: Bool) async -> Result<Void, FileError> {
    guard mayWait, options.attributeDelay > .zero else {
      await publishCopiesBeforeReplacing(draft)
      return await draft.flush()
    }
    let isNews = tables.withLock { $0.deferred.insert(draft.id).inserted }
    if isNews {
      _ = timers.schedule(after: options.attributeDelay) { [weak self] in
        guard let self else { return }
        _ = startControlTask { [self] in await storeDeferred(draft) }
      }
    }
    return .success(())
  }

  private func storeDeferred(_ draft: Draft) async {
    let isWritten = tables.withLock { tables in
      tables.deferred.remove(draft.id)
      return tables.drafts.node(of: draft).map { tables.open.hasWriter($0) } ?? false
    }
    // Who writes it stores it, when all of it is there.
    guard !isWritten else { return }
    // A failure has been told, and it is tried again.
    _ = await publish(draft)
  }

  /// The draft that a handle reads, if it waits to be stored.
  func deferredDraft(of handle: HandleID) -> Draft? {
    tables.withLock { tables in
      guard !tables.deferred.isEmpty, case .file(let open) = tables.handles[handle],
        let draft = tables.drafts[open.node], tables.deferred.contains(draft.id)
      else { return nil }
      return draft
    }
  }
}
