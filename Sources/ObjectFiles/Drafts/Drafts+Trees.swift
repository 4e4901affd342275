internal import Caching
package import Core
internal import Support
internal import Transfer

extension Drafts {
  /// How far the renaming of a directory has come.
  package struct TreeProgress: Hashable, Sendable {
    /// Keys that were copied.
    package var keyCountDone: Int
    /// Keys known so far.
    package var keyCount: Int
    /// Bytes of the keys that were copied.
    package var byteCountDone: Int
    /// Bytes of all of them.
    package var byteCount: Int
  }

  /// Gives all keys below a directory's prefix another beginning: by the store's own renaming where
  /// directories exist by themselves, else by copies on the server, journaled before the first
  /// (`TreeRename`).
  ///
  /// - Parameters:
  ///   - source: the directory's prefix.
  ///   - target: its new one, below which there is nothing but a marker.
  ///   - report: is called from several threads and must not block.
  /// - Throws: `FileError`; either nothing has changed, or `recoverTrees` finishes.
  package func moveTree(
    _ source: ObjectKey,
    to target: ObjectKey,
    report: @escaping @Sendable (TreeProgress) -> Void
  ) async throws(FileError) {
    if environment.store.capabilities.hasDirectories,
      environment.store.capabilities.hasNativeRename != false,
      try await isRenamedByStore(source, to: target)
    {
      return
    }
    let rename = TreeRename(
      try request(source, target),
      in: environment.store,
      environment: environment.transfers,
      report: { report(TreeProgress($0)) }
    )
    do throws(TransferError) {
      try await rename.run()
    } catch {
      throw FileError(error, renaming: source)
    }
  }

  /// What became of a renaming that an earlier mount could not finish.
  package struct RecoveredTree: Sendable {
    /// The old prefix; empty if the journal could not be read.
    package var source: ObjectKey
    /// The new prefix.
    package var target: ObjectKey
    /// Why it is still not finished; nil if it is.
    package var failure: FileError?
  }

  /// Finishes the renamings that an earlier mount could not, one after the other.
  ///
  /// - Returns: what became of them.
  package func recoverTrees() async -> [RecoveredTree] {
    var recovered: [RecoveredTree] = []
    let journals: [String]
    do throws(DiskFailure) {
      journals = try TreeRename.unfinished(in: environment.staging.renamesDirectory())
    } catch {
      let failure = FileError(error, of: "the journals of renamings can't be read: \(error)")
      return [RecoveredTree(source: ObjectKey(""), target: ObjectKey(""), failure: failure)]
    }
    for path in journals { recovered.append(await recoverTree(path)) }
    return recovered
  }

  private func recoverTree(_ path: String) async -> RecoveredTree {
    var tree = RecoveredTree(source: ObjectKey(""), target: ObjectKey(""))
    do {
      let journal = try await TreeRename.resume(
        path,
        like: try request(ObjectKey(""), ObjectKey("")),
        in: environment.store,
        environment: environment.transfers
      )
      tree.source = journal.source
      tree.target = journal.target
    } catch let error as FileError {
      tree.failure = error
    } catch {
      tree.failure = FileError(
        .inputOutput,
        "a renaming that was interrupted could not be finished (its journal is \(path)): \(error)"
      )
    }
    return tree
  }

  private func request(
    _ source: ObjectKey,
    _ target: ObjectKey
  ) throws(FileError) -> TreeRenameRequest {
    let directory: String
    do throws(DiskFailure) {
      directory = try environment.staging.renamesDirectory()
    } catch {
      throw FileError(error, of: "\"\(source)\" can't be renamed: \(error)")
    }
    var request = TreeRenameRequest(
      from: source,
      to: target,
      of: environment.storeName,
      journalDirectory: directory
    )
    request.parallel = max(16, environment.settings.parallel)
    request.retryCountMax = environment.settings.retryCountMax
    return request
  }

  /// Has the store rename a directory; false if it can't, and nothing has happened then.
  private func isRenamedByStore(
    _ source: ObjectKey,
    to target: ObjectKey
  ) async throws(FileError) -> Bool {
    do throws(StoreError) {
      try await environment.store.rename(
        RenameRequest(source: source, target: target),
        context: RequestContext(
          deadline: environment.files.time.now + environment.files.patience,
          retryCountMax: environment.settings.retryCountMax
        )
      )
      return true
    } catch {
      if error.kind == .unsupported { return false }
      throw FileError(error, of: .name).uninterrupted
    }
  }
}

extension Drafts.TreeProgress {
  fileprivate init(_ progress: TreeRename.Progress) {
    keyCountDone = progress.keyCountDone
    keyCount = progress.keyCount
    byteCountDone = progress.byteCountDone
    byteCount = progress.byteCount
  }
}

extension FileError {
  /// What it means to a program that a directory could not be renamed.
  fileprivate init(_ error: TransferError, renaming source: ObjectKey) {
    switch error {
    case .store(let cause):
      let mapped = FileError(cause, of: .name).uninterrupted
      self.init(
        mapped.code == .notFound ? .inputOutput : mapped.code,
        "\"\(source)\" could not be renamed: \(mapped.message)",
        cause: cause
      )
    case .disk(let failure):
      self.init(failure, of: "\"\(source)\" could not be renamed: \(failure)")
    case .paused: self.init(.interrupted, "renaming \"\(source)\" was interrupted")
    case .invalid(let reason): self.init(.invalid, reason)
    default: self.init(.inputOutput, "\"\(source)\" could not be renamed: \(error)")
    }
  }
}
