internal import Caching
package import Core
internal import Support
internal import Transfer

extension Drafts {
  /// The directory at the mount's root in which renamings leave their markers.
  package static var markerDirectoryName: String { RenameMarker.directoryName }

  /// How far a renaming has come.
  package struct RenameProgress: Hashable, Sendable {
    /// Keys that were copied; of a single large object, its parts.
    package var keyCountDone: Int
    /// Keys, or parts, known so far.
    package var keyCount: Int
    /// Bytes that were copied.
    package var byteCountDone: Int
    /// Bytes of all of them.
    package var byteCount: Int
  }

  /// Server-side copies have no bytes of this machine's to repeat, and larger parts are fewer requests:
  /// 128 MiB makes a hundred of an object of 12 GiB.
  private static let copiedPartSize = 128 << 20

  /// An object that is to have another key.
  package struct MovedObject: Sendable {
    /// What is moved; if the store has another version by now, nothing is.
    package var version: ObjectVersion
    /// Its storage class; nil is the store's standard.
    package var storageClass: String?
    /// What was last known to be at the new key; nil if nothing was.
    package var replaced: ObjectVersion?
    /// False fails with `.exists` if there is something at the new key.
    package var mayReplace: Bool
    /// What it is to have beside its bytes from then on; nil is what it has.
    package var facts: ObjectFacts?

    /// Creates a description.
    package init(
      _ version: ObjectVersion,
      storageClass: String?,
      replacing replaced: ObjectVersion?,
      mayReplace: Bool,
      facts: ObjectFacts? = nil
    ) {
      self.version = version
      self.storageClass = storageClass
      self.replaced = replaced
      self.mayReplace = mayReplace
      self.facts = facts
    }
  }

  /// Gives an object another key: by the store's own renaming where it has one, else by a copy on the
  /// server, after which the old one is deleted.
  ///
  /// - Parameters:
  ///   - object: what is to be moved.
  ///   - target: the new key.
  ///   - report: is told of an object that is copied in parts; from several threads, and must not block.
  /// - Returns: what is at the new key then, and what became what.
  /// - Throws: `FileError`. The object is at its old key still, and at the new one at most as a copy, of
  ///   which the log says why it is there.
  package func rename(
    _ object: MovedObject,
    to target: ObjectKey,
    report: @escaping @Sendable (RenameProgress) -> Void = { _ in }
  ) async throws(FileError) -> (object: ObjectMetadata, moves: [VersionMove]) {
    let source = object.version.key
    let renamed = RenamedObject(
      object.version,
      storageClass: object.storageClass,
      replacing: object.replaced,
      mayReplace: object.mayReplace,
      facts: object.facts
    )
    let outcome = try await rename(.object(renamed), source, to: target, report)
    guard let made = outcome.object else {
      throw FileError(.inputOutput, "\"\(source)\" was renamed, and nothing is known of it")
    }
    return (made, outcome.moves)
  }

  /// Gives all keys below a directory's prefix another beginning: by the store's own renaming where
  /// directories exist by themselves, else by copies on the server.
  ///
  /// - Parameters:
  ///   - source: the directory's prefix.
  ///   - target: its new one, below which there is nothing but a marker.
  ///   - report: is called from several threads and must not block.
  /// - Returns: what became what, as far as that is known; of a store's own renaming nothing is.
  /// - Throws: `FileError`; either nothing has changed, or `finish` finishes.
  package func renameTree(
    _ source: ObjectKey,
    to target: ObjectKey,
    report: @escaping @Sendable (RenameProgress) -> Void
  ) async throws(FileError) -> [VersionMove] {
    try await rename(.tree, source, to: target, report).moves
  }

  private func rename(
    _ subject: RenamePlan.Subject,
    _ source: ObjectKey,
    to target: ObjectKey,
    _ report: @escaping @Sendable (RenameProgress) -> Void
  ) async throws(FileError) -> Rename.Outcome {
    let rename = Rename(
      try plan(subject, source, target),
      in: environment.store,
      environment: environment.transfers,
      report: { report(RenameProgress($0)) }
    )
    do throws(TransferError) {
      return try await rename.run()
    } catch {
      throw FileError(error, renaming: source, to: target)
    }
  }

  /// A renaming that an earlier mount could not finish.
  package struct UnfinishedRenaming: Hashable, Sendable {
    /// Its journal.
    package var path: String
    /// The old key or prefix.
    package var source: ObjectKey
    /// The new one.
    package var target: ObjectKey
    /// All keys that begin with these are renamed.
    package var isTree: Bool
    /// It has failed, and the same renaming goes on with the parts that are there if it is asked for again.
    package var hasParts = false
  }

  /// The renamings that earlier mounts could not finish.
  ///
  /// - Returns: each, or why its journal can't be read.
  package func unfinishedRenamings() -> [Result<UnfinishedRenaming, FileError>] {
    let paths: [String]
    do throws(DiskFailure) {
      paths = try Rename.unfinished(in: environment.staging.renamesDirectory())
    } catch {
      return [.failure(FileError(error, of: "the journals of renamings can't be read: \(error)"))]
    }
    return paths.map { path in
      do throws(TransferError) {
        let journal = try Rename.journal(at: path)
        return .success(
          UnfinishedRenaming(
            path: path,
            source: journal.source,
            target: journal.target,
            isTree: journal.subject == .tree,
            hasParts: isFailedCopyInParts(journal)
          )
        )
      } catch {
        return .failure(Self.unfinished(path, error))
      }
    }
  }

  /// A renaming that was brought to its end.
  package struct FinishedRenaming: Sendable {
    /// Of an object that is at its new key now, what became what, and what is there.
    package var moved: (move: VersionMove, object: ObjectMetadata)?
  }

  private func isFailedCopyInParts(_ journal: RenameJournal) -> Bool {
    guard journal.isUndoing, case .object(let object) = journal.subject else { return false }
    return object.version.size > environment.store.capabilities.singleRequestSizeMax
  }

  /// Brings a renaming to its end that an earlier mount could not, or this one.
  ///
  /// - Parameters:
  ///   - renaming: which one.
  ///   - report: is called from several threads and must not block.
  /// - Returns: how it ended; nil if that was before.
  /// - Throws: `FileError`; its journal is still there then.
  package func finish(
    _ renaming: UnfinishedRenaming,
    report: @escaping @Sendable (RenameProgress) -> Void
  ) async throws(FileError) -> FinishedRenaming? {
    let plan = try plan(.tree, renaming.source, renaming.target)
    // It may have come to its end since it was found.
    guard (try? Disk.status(of: renaming.path)) != .some(nil) else { return nil }
    do throws(TransferError) {
      let outcome = try await Rename.resume(
        renaming.path,
        like: plan,
        in: environment.store,
        environment: environment.transfers,
        report: { report(RenameProgress($0)) }
      )
      guard let object = outcome.object, let move = outcome.moves.first else {
        return FinishedRenaming()
      }
      return FinishedRenaming(moved: (move, object))
    } catch {
      throw Self.unfinished(renaming.path, error)
    }
  }

  private static func unfinished(_ path: String, _ error: TransferError) -> FileError {
    FileError(
      .inputOutput,
      "a renaming that was interrupted could not be finished (its journal is \(path)): \(error)"
    )
  }

  private func plan(
    _ subject: RenamePlan.Subject,
    _ source: ObjectKey,
    _ target: ObjectKey
  ) throws(FileError) -> RenamePlan {
    let directory: String
    do throws(DiskFailure) {
      directory = try environment.staging.renamesDirectory()
    } catch {
      throw FileError(error, of: "\"\(source)\" can't be renamed: \(error)")
    }
    var plan = RenamePlan(
      subject,
      from: source,
      to: target,
      of: environment.storeName,
      journalDirectory: directory
    )
    plan.parallel = max(16, environment.settings.parallel)
    plan.markerBeginning = environment.settings.markerBeginning
    plan.partSize = Self.copiedPartSize
    plan.retryCountMax = environment.settings.retryCountMax
    plan.retryPatience = environment.files.patience
    return plan
  }
}

extension Drafts.RenameProgress {
  fileprivate init(_ progress: Rename.Progress) {
    keyCountDone = progress.keyCountDone
    keyCount = progress.keyCount
    byteCountDone = progress.byteCountDone
    byteCount = progress.byteCount
  }
}

extension FileError {
  /// What it means to a program that something could not be renamed.
  fileprivate init(_ error: TransferError, renaming source: ObjectKey, to target: ObjectKey) {
    let words = "\"\(source)\" could not be renamed to \"\(target)\""
    switch error {
    case .store(let cause):
      let mapped = FileError(cause, of: .name).uninterrupted
      // Of a directory that isn't there none of its keys would tell.
      let isTreesOwn = mapped.code == .notFound && source.isDirectoryMarker
      self.init(
        isTreesOwn ? .inputOutput : mapped.code,
        "\(words): \(mapped.message)",
        cause: cause
      )
    case .sourceChanged:
      self.init(.stale, "\(words): it has been changed by somebody else meanwhile")
    case .targetChanged(let cause):
      self.init(.exists, "\"\(target)\" is there already", cause: cause)
    case .disk(let failure): self.init(failure, of: "\(words): \(failure)")
    case .paused: self.init(.interrupted, "\(words): it was interrupted")
    case .invalid(let reason): self.init(.invalid, reason)
    default: self.init(.inputOutput, "\(words): \(error)")
    }
  }
}
