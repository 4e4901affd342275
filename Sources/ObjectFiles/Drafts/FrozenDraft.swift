internal import Caching
internal import Core
internal import Support
internal import Transfer

/// A draft as it was at the moment from which it is published.
///
/// Its bytes lie in data files that nobody writes into any more, but for those that it doesn't have: what
/// must be sent and is elsewhere is put there first.
final class FrozenDraft: Sendable {
  private let draft: Draft
  private let snapshot: DraftState.Snapshot
  /// What data files have of the snapshot.
  private let held: Lock<[Int: ByteRangeSet]>
  /// Its own: what readers have waited for in vain a moment ago is asked for again.
  private let sources: DraftSources

  /// What is fetched into memory at a time on the way to a data file.
  private static let stepSize = 4 << 20

  init(_ draft: Draft, _ snapshot: DraftState.Snapshot) {
    self.draft = draft
    self.snapshot = snapshot
    held = Lock(snapshot.local)
    var environment = draft.environment
    // What it reads is known: nothing beyond that.
    environment.files.prefetch.aheadMax = 0
    sources = DraftSources(environment)
  }

  private var environment: Drafts.Environment { draft.environment }

  /// Makes it the object.
  ///
  /// - Returns: what the store says of that, and whether the object was begun with other facts, which must be
  ///   replaced.
  func publish() async throws(TransferError) -> (object: ObjectMetadata, lacksFacts: Bool) {
    var early = await draft.endEarly()
    let request = try request()
    // What was sent early is of use only if all of it is uploaded, to where it is still to be.
    if early?.upload.target.key != snapshot.key || !request.plan.isUploadOfAll { early = nil }
    var earlier: UploadCheckpoint?
    if let early, let upload = await early.upload.upload() {
      earlier = UploadCheckpoint(identity: request.identity, upload: upload)
      for part in early.parts { earlier?.insert(part) }
    }
    guard let stored = try await publishing(request).run(earlier) else {
      guard let base = snapshot.base else { throw .invalid("there is nothing to store") }
      return (base, false)
    }
    let begun = earlier == nil ? nil : early?.upload.target
    return (object(stored, request), begun.map { !$0.hasFacts(of: request.target) } ?? false)
  }

  /// Asks the store whether a try to publish it, which got no clear answer, has been done.
  ///
  /// - Returns: the object that it has made; nil if nothing shows that.
  func settled() async throws(TransferError) -> ObjectMetadata? {
    let request = try request()
    return try await publishing(request).settled().map { object($0, request) }
  }

  private func object(_ stored: StoredObject, _ request: PublishRequest) -> ObjectMetadata {
    ObjectMetadata(stored, request.target, at: environment.files.time.wallTime.wholeSecond)
  }

  private func publishing(_ request: PublishRequest) -> ObjectPublishing {
    ObjectPublishing(
      request,
      bytes: { (range) async throws(TransferError) in try await self.file(holding: range) },
      to: environment.store,
      in: environment.transfers
    )
  }

  private func target() -> PutRequest {
    var facts = snapshot.facts
    // Who writes takes the right away to be another user by the file, unless it is given anew.
    if !snapshot.hasNewFacts, let base = snapshot.base, !snapshot.extents.isWhole(of: base.version)
    {
      var posix = PosixMetadata(facts.userMetadata)
      if posix.wasWritten() {
        facts.userMetadata = posix.replacing(
          in: facts.userMetadata,
          style: environment.settings.metadataStyle
        )
      }
    }
    environment.stamp(&facts, snapshot.timeSet)
    return PutRequest(key: snapshot.key, condition: snapshot.condition, facts: facts)
  }

  private func request() throws(TransferError) -> PublishRequest {
    let plan: PublishPlan
    do throws(PartLimits.Violation) {
      plan = try PublishPlan(
        snapshot.extents,
        published: snapshot.base?.version,
        hasNewFacts: snapshot.hasNewFacts,
        limits: environment.limits
      )
    } catch {
      throw .invalid(error.description)
    }
    var request = PublishRequest(
      target(),
      of: environment.storeName,
      by: plan,
      draft: ObjectVersion(
        key: snapshot.key,
        etag: ETag("\(draft.id)-\(snapshot.token)"),
        size: snapshot.extents.size,
        lastModified: Timestamp(nanoseconds: 0)
      )
    )
    request.checkpointPath = draft.staged.checkpointPath
    request.partSize = environment.limits.partSize
    request.parallel = environment.settings.parallel
    request.retryCountMax = environment.settings.retryCountMax
    request.storageTask = environment.settings.storageTask
    request.retryPatience = environment.files.patience
    request.needsCopy = snapshot.needsCopy
    return request
  }

  /// Returns a data file that has all of a range, after giving one what it lacks.
  private func file(holding range: ByteRange) async throws(TransferError) -> FileDescriptor {
    let found = held.withLock { held in held.first { $0.value.contains(range) }?.key }
    let number = found ?? snapshot.file
    if found == nil { try await materialize(range) }
    do throws(DiskFailure) {
      return try draft.staged.file(number)
    } catch {
      throw .disk(error)
    }
  }

  /// Gives the last data file the bytes of a range that it lacks.
  private func materialize(_ range: ByteRange) async throws(TransferError) {
    let missing = held.withLock { held in
      (held[snapshot.file] ?? ByteRangeSet()).gaps(in: range)
    }
    for gap in missing {
      for piece in snapshot.extents.pieces(in: gap) {
        var offset = piece.range.lowerBound
        while offset < piece.range.upperBound {
          let end = piece.place == .hole ? piece.range.upperBound : offset + Self.stepSize
          let step = ByteRange(offset, min(piece.range.upperBound, end))
          try await materialize(step, piece)
          offset = step.upperBound
        }
      }
    }
  }

  private func materialize(
    _ step: ByteRange,
    _ piece: FileExtents.Piece
  ) async throws(TransferError) {
    let bytes: [UInt8]?
    if piece.place == .hole {
      bytes = nil
    } else {
      let collector = ReplyCollector<DataAnswer>()
      let pieces = snapshot.extents.pieces(in: step)
      PieceGathering(pieces, of: draft, from: sources, collector.reply).run()
      switch await collector.outcome() {
      case .success(.bytes(let found)): bytes = found
      // A gathering answers with bytes.
      case .success(.file): throw .invalid("bytes \(step) of \(snapshot.key) could not be read")
      case .failure(let error): throw TransferError(fetching: error)
      }
    }
    let (staged, file) = (draft.staged, snapshot.file)
    do throws(DiskFailure) {
      try await environment.transfers.disk.run { () throws(DiskFailure) in
        let file = try staged.file(file)
        guard let bytes else { return try file.zero(step) }
        try bytes.span.bytes.withUnsafeBytes { (buffer) throws(DiskFailure) in
          try file.write(buffer, at: step.lowerBound)
        }
      }
    } catch {
      throw .disk(error)
    }
    held.withLock { $0[file, default: ByteRangeSet()].insert(step) }
    draft.state.withLock { $0.materialized(step, in: file, of: snapshot.token) }
  }
}

extension TransferError {
  /// What it means that bytes which a draft needs could not be read.
  fileprivate init(fetching error: FileError) {
    switch (error.code, error.cause) {
    case (.stale, let cause): self = .fetch(.changed(cause))
    case (_, let cause?): self = .fetch(.store(cause))
    case (.noSpace, nil):
      // ENOSPC.
      self = .disk(DiskFailure(errno: 28, action: "read what is unchanged", reason: error.message))
    case (_, nil): self = .fetch(.deadline(error.message))
    }
  }
}

extension ObjectMetadata {
  /// What a store would say of an object that it has just been given.
  fileprivate init(_ stored: StoredObject, _ target: PutRequest, at time: Timestamp) {
    self.init(
      version: ObjectVersion(
        key: stored.key,
        etag: stored.etag,
        size: stored.size,
        lastModified: time
      )
    )
    headers = target.headers
    userMetadata = target.userMetadata
    storageClass = target.storageClass
    currentVersionID = stored.versionID
    crc64 = stored.crc64
    tagCount = target.tags.count
  }
}

extension PublishPlan {
  /// It is a multipart upload that copies nothing.
  fileprivate var isUploadOfAll: Bool {
    guard case .parts(let parts) = self else { return false }
    return parts.allSatisfy { $0.source == .upload }
  }
}

extension PutRequest {
  /// Both give an object the same facts.
  fileprivate func hasFacts(of other: PutRequest) -> Bool {
    headers == other.headers && userMetadata == other.userMetadata && tags == other.tags
      && storageClass == other.storageClass
  }
}

extension Drafts.Environment {
  /// Writes the modification time into facts that are about to be published; the time is nil if no program
  /// has set one since the last write, and what an earlier one left must then go.
  func stamp(_ facts: inout ObjectFacts, _ time: Timestamp?) {
    facts.userMetadata = PosixMetadata.stamped(
      facts.userMetadata,
      modified: time,
      style: settings.metadataStyle
    )
  }

  /// The rules of this store, and the settings of this mount.
  var limits: PublishPlan.Limits {
    let capabilities = store.capabilities
    var limits = PublishPlan.Limits()
    limits.parts.sizeMin = capabilities.partSizeMin
    limits.parts.countMax = capabilities.partCountMax
    limits.copySizeMax = capabilities.singleRequestSizeMax
    limits.copyPartSize = min(limits.copyPartSize, capabilities.singleRequestSizeMax)
    let partSize = max(settings.partSizeOrUsual, capabilities.partSizeMin)
    limits.partSize = partSize
    limits.putSizeMax = min(partSize, capabilities.singleRequestSizeMax)
    return limits
  }
}
