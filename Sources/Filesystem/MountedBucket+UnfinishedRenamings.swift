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
  /// The mount doesn't wait for it: until it is done, what isn't moved yet is found at both names.
  package func startRecoveringRenamings() {
    guard let drafts else { return }
    _ = startControlTask { [self] in await recoverRenamings(drafts) }
  }

  private func recoverRenamings(_ drafts: Drafts) async {
    for renaming in drafts.unfinishedRenamings() {
      do throws(FileError) {
        try await finish(try renaming.get())
      } catch {
        reporter.report(error, FailureReporter.Operation(name: "rename", path: ""))
      }
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

  /// Brings one to its end, while nobody changes what is at either name.
  package func finish(_ renaming: Drafts.UnfinishedRenaming) async throws(FileError) {
    guard let drafts else { throw FileError(.readOnly, "the mount is read-only") }
    let ends = [renaming.source, renaming.target]
    let outcome = await turns.whileTaken(
      renaming.isTree ? [] : ends,
      below: renaming.isTree ? ends : []
    ) { () async -> Result<Void, FileError> in
      do throws(FileError) {
        try await reporting(renaming.source, to: renaming.target) {
          report async throws(FileError) in try await drafts.finish(renaming, report: report)
        }
        return .success(())
      } catch {
        return .failure(error)
      }
    }
    invalidateAll()
    try outcome.get()
    log.write(
      .info,
      "a renaming that was interrupted has come to its end",
      ["from": path(of: renaming.source), "to": path(of: renaming.target)]
    )
  }
}
