package import Core
package import ObjectFiles
internal import Support

/// A renaming under way, for `status`: of a directory, or of a large file.
package struct Renaming: Hashable, Sendable {
  /// The old path in the mount.
  package var source: String
  /// The new one.
  package var target: String
  /// How far it has come.
  package var progress: Drafts.RenameProgress
}

extension MountedBucket {
  /// The renamings that are under way, those of small files apart.
  package var renamings: [Renaming] {
    tables.withLock { $0.renamings.values.sorted { $0.source < $1.source } }
  }

  /// Runs a renaming and lets `status` show how far it has come.
  func reporting<Answer>(
    _ source: ObjectKey,
    to target: ObjectKey,
    _ body: (@escaping @Sendable (Drafts.RenameProgress) -> Void) async throws(FileError) -> Answer
  ) async throws(FileError) -> Answer {
    let (from, to) = (path(of: source), path(of: target))
    defer { tables.withLock { $0.renamings[source] = nil } }
    return try await body { [self] progress in
      let renaming = Renaming(source: from, target: to, progress: progress)
      tables.withLock { $0.renamings[source] = renaming }
    }
  }

  /// False in a mount that only reads.
  package var canChange: Bool { drafts != nil }

  /// Begins to finish the renamings that an earlier mount could not.
  ///
  /// The mount doesn't wait for it: until it is done, what isn't moved yet is found at both names. What fails is
  /// tried again some time later, as what fails in this mount is.
  package func startRecoveringRenamings() {
    guard drafts != nil else { return }
    _ = startControlTask { [self] in await recoverRenamings(failureCount: 0) }
  }

  private func recoverRenamings(failureCount: Int) async {
    var isToBeRepeated = false
    for renaming in unfinishedRenamings {
      do throws(FileError) {
        let found = try renaming.get()
        // Whoever asks for it once more goes on with its parts; the next mount gives them up.
        guard failureCount == 0 || !found.hasParts else { continue }
        try await finish(found)
      } catch {
        // What can't even be read is for somebody to look at.
        if case .success = renaming { isToBeRepeated = true }
        reporter.report(error, FailureReporter.Operation(name: "rename", path: ""))
      }
    }
    if isToBeRepeated { repeatRenamings(failureCount: failureCount + 1) }
  }

  private static let renamingDoublingCountMax = 4

  /// A renaming has failed: if it could not be taken back either, it is brought to its end some time later.
  func renamingFailed() {
    guard let left = drafts?.unfinishedRenamings(), !left.isEmpty else { return }
    repeatRenamings(failureCount: 1)
  }

  private func repeatRenamings(failureCount: Int) {
    let isNews = tables.withLock { tables in
      defer { tables.repeatsRenamings = true }
      return !tables.repeatsRenamings
    }
    guard isNews else { return }
    let doublingCount = min(failureCount - 1, Self.renamingDoublingCountMax)
    _ = timers.schedule(after: options.renamingDelay * (1 << doublingCount)) { [weak self] in
      guard let self else { return }
      tables.withLock { $0.repeatsRenamings = false }
      _ = startControlTask { [self] in await recoverRenamings(failureCount: failureCount) }
    }
  }

  /// The renamings whose journals are there and that nobody is at.
  package var unfinishedRenamings: [Result<Drafts.UnfinishedRenaming, FileError>] {
    let active = tables.withLock { Set($0.renamings.keys) }
    return (drafts?.unfinishedRenamings() ?? []).filter { renaming in
      guard case .success(let found) = renaming else { return true }
      return !active.contains(found.source)
    }
  }

  /// Runs `body`, which renames what is below a prefix, while nobody else changes what is below either.
  package func whileAlone<Outcome: Sendable>(
    below source: ObjectKey,
    _ target: ObjectKey,
    _ body: @escaping @Sendable () async -> Outcome
  ) async -> Outcome {
    let outcome = await turns.whileTaken([], below: [source, target], body)
    invalidateAll()
    return outcome
  }

  /// Brings one to its end, while nobody changes what is at either name; nothing is done if it has come to it.
  package func finish(_ renaming: Drafts.UnfinishedRenaming) async throws(FileError) {
    guard let drafts else { throw FileError(.readOnly, "the mount is read-only") }
    let ends = [renaming.source, renaming.target]
    let outcome = await turns.whileTaken(
      renaming.isTree ? [] : ends,
      below: renaming.isTree ? ends : []
    ) { () async -> Result<Drafts.FinishedRenaming?, FileError> in
      do throws(FileError) {
        let finished = try await reporting(renaming.source, to: renaming.target) {
          report async throws(FileError) in try await drafts.finish(renaming, report: report)
        }
        if let finished, !renaming.isTree { followRecovered(renaming, finished) }
        return .success(finished)
      } catch {
        return .failure(error)
      }
    }
    invalidateAll()
    let finished = try outcome.get()
    if !renaming.isTree { await storeRecovered(renaming) }
    guard finished != nil else { return }
    log.write(
      .info,
      "a renaming that was interrupted has come to its end",
      ["from": path(of: renaming.source), "to": path(of: renaming.target)]
    )
  }

  /// What an earlier mount didn't store of a file that it was renaming is the file's at its new key.
  private func followRecovered(
    _ renaming: Drafts.UnfinishedRenaming,
    _ finished: Drafts.FinishedRenaming
  ) {
    let draft = tables.withLock { $0.drafts.draft(at: renaming.source) }
    guard let draft, let base = draft.base, let moved = finished.moved,
      moved.move.source.isSameContent(as: base.version)
    else { return }
    draft.moved(to: moved.object)
    let (oldPrefix, oldComponent) = renaming.source.place
    let (prefix, component) = renaming.target.place
    let entry = ListingPage.single(
      moved.object,
      component: component,
      in: prefix,
      requestedAt: time.now,
      isPlainlyNamed: true
    )
    tables.withLock { tables in
      tables.drafts.rename(renaming.source, to: renaming.target)
      tables.changes[oldPrefix]?.forget(Array(oldComponent), .file)
      if let entry { tables.changes[prefix, default: NameChanges()].made(entry, settledAt: nil) }
    }
  }

  /// What waited for a renaming to be finished is stored, wherever it is now.
  private func storeRecovered(_ renaming: Drafts.UnfinishedRenaming) async {
    for key in [renaming.source, renaming.target] {
      let waiting = tables.withLock { tables -> Draft? in
        guard let draft = tables.drafts.draft(at: key) else { return nil }
        // Who has it open stores it.
        let isOpen = tables.drafts.node(of: draft).map { tables.open.isOpen($0) } ?? false
        return isOpen ? nil : draft
      }
      guard let draft = waiting else { continue }
      // A failure has been told, and it is tried again.
      _ = await publish(draft)
    }
  }
}
