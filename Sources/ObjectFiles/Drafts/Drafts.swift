package import Caching
package import Core
internal import Support
package import Transfer

/// All drafts of a mount: makes them, finds those that an earlier mount left, and brings what is left to the
/// store before the mount ends.
///
/// Which draft belongs to which node is the file system's business.
package final class Drafts: Sendable {
  /// The most bytes of a file: what an object can have.
  ///
  /// Source: Amazon S3 User Guide, "Multipart upload limits": 10,000 parts of 5 GiB.
  package static let sizeMax = 10_000 * (5 << 30)

  /// How drafts are published.
  package struct Settings: Sendable {
    /// Bytes of an upload part; 0 is the usual size.
    ///
    /// What is not larger goes in one request.
    package var partSize = 0
    /// Parts in flight of one draft.
    package var parallel = 8
    /// How often a failed request is tried again.
    package var retryCountMax: Int? = 5
    /// How long `flush` may leave a closed file on the local disk alone; nil: `flush` publishes.
    package var writeBackDelay: Duration?
    /// The beginning of the mount's keys, below which the renaming of a directory leaves its marker; nil
    /// leaves none.
    package var markerBeginning: ObjectKey?
    /// How a modification time that was set is stored.
    package var metadataStyle = MetadataStyle.s3fs
    /// How the store is to keep what is written, by the names that users know.
    package var storageTask: [String: String] = [:]

    /// Creates the default settings.
    package init() {}

    var partSizeOrUsual: Int { partSize == 0 ? PartLimits.usualPartSize : partSize }
  }

  /// What all drafts of a mount share.
  package struct Environment: Sendable {
    /// The bucket.
    package var store: any ObjectStore
    /// The bucket as the user named it, with its endpoint.
    package var storeName: String
    /// Where drafts lie on the disk.
    package var staging: StagingArea
    /// What transfers share.
    package var transfers: TransferEnvironment
    /// What open files share: the cache, clocks, patience.
    package var files: ObjectFile.Environment
    /// Is told of failures.
    package var observer: any DraftObserver
    /// How drafts are published.
    package var settings: Settings
    /// What is published without anybody waiting.
    let background = DraftBackground()

    /// Creates an environment.
    package init(
      store: any ObjectStore,
      storeName: String,
      staging: StagingArea,
      transfers: TransferEnvironment,
      files: ObjectFile.Environment,
      observer: any DraftObserver,
      settings: Settings = Settings()
    ) {
      self.store = store
      self.storeName = storeName
      self.staging = staging
      self.transfers = transfers
      self.files = files
      self.observer = observer
      self.settings = settings
    }
  }

  let environment: Environment
  private let drafts = Lock([String: Draft]())
  private let leftovers = Lock([String]())

  /// Creates the drafts of a mount; nothing is looked for yet (`recover`).
  package init(_ environment: Environment) {
    self.environment = environment
  }

  /// Begins a new, empty file.
  ///
  /// It is dirty from the start: also an empty file is stored when it is closed.
  ///
  /// - Parameters:
  ///   - key: the object to be.
  ///   - facts: what it is to have beside its bytes.
  ///   - condition: `.ifAbsent`, unless what is there may be replaced unseen.
  /// - Returns: the draft.
  /// - Throws: `FileError` if the local disk can't take it.
  package func create(
    _ key: ObjectKey,
    facts: ObjectFacts = ObjectFacts(),
    condition: WriteCondition = .ifAbsent
  ) throws(FileError) -> Draft {
    let head = DraftHead(
      key: key,
      condition: condition,
      base: nil,
      isTruncated: true,
      isDirty: true,
      modified: environment.files.time.wallTime
    )
    return try add([.began(head), .facts(facts, isNew: false)], base: nil)
  }

  /// Begins to edit an object: what isn't written stays the object's.
  ///
  /// Nothing is fetched. The draft is clean until it is changed; `isTruncated` makes it empty, and dirty, at
  /// once.
  ///
  /// - Parameters:
  ///   - object: what is there. If it came from a listing its facts are unknown (`Draft.loadFacts`).
  ///   - isTruncated: it was opened with `O_TRUNC`.
  /// - Returns: the draft.
  /// - Throws: `FileError` if the local disk can't take it.
  package func edit(
    _ object: ObjectMetadata,
    isTruncated: Bool = false
  ) throws(FileError) -> Draft {
    let head = DraftHead(
      key: object.key,
      condition: object.version.etag.map { .ifMatch($0) } ?? .none,
      base: object.version,
      isTruncated: isTruncated,
      isDirty: isTruncated,
      modified: isTruncated ? environment.files.time.wallTime : object.version.lastModified
    )
    return try add([.began(head)], base: object)
  }

  /// Nobody has the file open any more: a draft that is clean, or discarded, is forgotten and its files are
  /// removed.
  ///
  /// - Returns: false if it stays, because the store lacks something of it or is being given it; ask again
  ///   when `DraftObserver` is told.
  @discardableResult
  package func end(_ draft: Draft) -> Bool {
    let stays = draft.state.withLock { $0.isDirty || $0.flight != nil }
    guard !stays else { return false }
    drafts.withLock { $0[draft.id] = nil }
    environment.background.cancel(draft)
    // An upload that could not be given up is the next mount's.
    if draft.hasUpload { return true }
    do throws(DiskFailure) {
      try draft.staged.remove()
    } catch {
      environment.transfers.log.write(.warning, "a published draft's files stay behind: \(error)")
    }
    return true
  }

  /// Takes over what earlier mounts left on the disk, however they ended; call it once, before the mount
  /// answers its first request.
  ///
  /// Looks at the local disk alone. What the store lacks is published in the background from then on, and
  /// `DraftObserver` is told what becomes of it; uploads that are of no use any more are given up.
  ///
  /// - Returns: the drafts that the store lacks something of, to be shown in the places of their keys.
  /// - Throws: `FileError` if the staging area can't be read.
  package func recover() async throws(FileError) -> [Draft] {
    let found: [StagingArea.Found]
    do throws(DiskFailure) {
      found = try await environment.transfers.disk.run { [environment] () throws(DiskFailure) in
        try environment.staging.find()
      }
    } catch {
      throw FileError(error, of: "what was not stored can't be looked for: \(error)")
    }
    // What was being renamed is stored when it is known where it is.
    let renamed = Set(
      unfinishedRenamings().compactMap { renaming in
        if case .success(let found) = renaming, !found.isTree { found.source } else { nil }
      }
    )
    var recovered: [Draft] = []
    for case .draft(let staged, let changes) in found {
      let draft = Draft(DraftState(changes), staged: staged, environment: environment)
      // The last mount may have got as far as the store.
      draft.state.withLock { $0.unclear = $0.inDoubt ?? $0.unclear }
      drafts.withLock { $0[draft.id] = draft }
      if draft.isDirty {
        recovered.append(draft)
        if !renamed.contains(draft.key) {
          environment.background.schedule(draft, after: .zero)
        }
      } else {
        Task {
          await draft.abandonUpload()
          end(draft)
        }
      }
    }
    leftovers.withLock { leftovers in
      leftovers = found.compactMap { found in
        switch found {
        case .draft: nil
        case .damaged(let path, _): path
        case .unknown(let path, _): path
        }
      }
    }
    return recovered
  }

  /// Directories of drafts that can't be read, and are kept: damaged ones, and those of other versions of the
  /// format; for `status`.
  package var unreadable: [String] { leftovers.withLock { $0 } }

  /// Publishes everything that is dirty, before the mount ends, some at a time; what can't be stays on the
  /// disk, and is taken over by the next mount.
  ///
  /// - Returns: what is left.
  package func finish() async -> [Draft] {
    environment.background.close(environment.files.timers)
    await withTaskGroup(of: Void.self) { group in
      for (index, draft) in all.filter(\.isDirty).enumerated() {
        if index >= Self.finishingCount { await group.next() }
        group.addTask { _ = await draft.publish() }
      }
    }
    for draft in all {
      // One that the store has just got is not over before that is written down.
      _ = await draft.state.withLock { $0.flight }?.result()
      end(draft)
    }
    return all.filter(\.isDirty)
  }

  /// Drafts that are published at a time when the mount ends; each has parts of its own in flight.
  private static let finishingCount = 4

  /// Drafts that the store lacks something of, for `status`.
  package var pending: [Draft] { all.filter(\.isDirty) }

  /// Drafts that could not be published when that was due, for `status`.
  package var unsaved: [Draft] { all.filter { $0.isDirty && $0.failure != nil } }

  /// Bytes that only the local disk has.
  package var dirtyByteCount: Int { all.reduce(0) { $0 + $1.dirtyByteCount } }

  private var all: [Draft] {
    drafts.withLock { drafts in drafts.values.sorted { $0.id < $1.id } }
  }

  private func add(
    _ changes: [DraftChange],
    base: ObjectMetadata?
  ) throws(FileError) -> Draft {
    var state = DraftState(changes)
    if let base { state.base = base }
    let staged: StagedDraft
    do throws(DiskFailure) {
      staged = try environment.staging.make(changes)
    } catch {
      throw FileError(error, writing: state.key)
    }
    let draft = Draft(state, staged: staged, environment: environment)
    drafts.withLock { $0[staged.id] = draft }
    return draft
  }
}

/// Is told what becomes of drafts; from any thread, and must not block.
package protocol DraftObserver: ReadObserver {
  /// A draft could not be published; whoever asked for it is told the same.
  func publishFailed(_ draft: Draft, _ error: FileError)
  /// A draft was published, whoever asked for it; it may be dirty again.
  func published(_ draft: Draft, _ object: ObjectMetadata)
}

extension DraftObserver {
  package func published(_ draft: Draft, _ object: ObjectMetadata) {}
}
