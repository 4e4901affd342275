package import Core
internal import Support

/// Gives all keys that begin with one prefix another beginning, where the store can't do that itself.
///
/// Everything is copied on the server first; a source is deleted only when a listing shows it in the
/// very state that was copied and all others are copied, too. So nobody sees a key lost, and whatever
/// interrupts it, the journal on disk says how to go on: `resume` brings it to its end. What others
/// add or change under the old prefix meanwhile is taken along. Before the first deletion a failure or a
/// cancellation takes the renaming back; after it there is only forward.
package struct TreeRename: Sendable {
  /// How far it has come.
  package struct Progress: Hashable, Sendable {
    /// Keys that were copied or are at their old place no more.
    package var keyCountDone = 0
    /// Keys known so far.
    package var keyCount = 0
    /// Bytes of the keys that were copied.
    package var byteCountDone = 0
    /// Bytes of all keys known so far.
    package var byteCount = 0
  }

  let request: TreeRenameRequest
  let store: any ObjectStore
  let environment: TransferEnvironment
  let report: @Sendable (Progress) -> Void
  let faults: PartFile.DiskFaults?

  /// Others may go on adding keys while theirs are moved; after so many looks what is left stays.
  static let roundCountMax = 10

  /// Creates a renaming.
  ///
  /// - Parameters:
  ///   - request: what becomes what.
  ///   - store: the bucket.
  ///   - environment: what transfers of this process share.
  ///   - faults: lets steps of the disk fail in tests.
  ///   - report: is called from several threads and must not block.
  package init(
    _ request: TreeRenameRequest,
    in store: any ObjectStore,
    environment: TransferEnvironment,
    faults: PartFile.DiskFaults? = nil,
    report: @escaping @Sendable (Progress) -> Void = { _ in }
  ) {
    self.request = request
    self.store = store
    self.environment = environment
    self.faults = faults
    self.report = report
  }

  /// Runs it to the end.
  ///
  /// - Returns: how many keys were left behind because others kept adding them; usually 0.
  /// - Throws: `TransferError`. Either nothing has changed, or the journal is still there and `resume`
  ///   finishes.
  @discardableResult
  package func run() async throws(TransferError) -> Int {
    guard !request.source.hasPrefix(request.target), !request.target.hasPrefix(request.source)
    else {
      throw .invalid("\(request.source) can't be renamed to \(request.target), which is inside")
    }
    let journal = RenameJournal(
      store: request.storeName,
      source: request.source,
      target: request.target
    )
    let path = request.journalPath
    let record = try await RenameRecord.begin(journal, at: path, environment, faults)
    return try await carryOut(record)
  }

  /// Finds the renamings that were interrupted.
  ///
  /// - Parameter directory: where their journals lie; none if it isn't there.
  /// - Returns: the journals' paths.
  /// - Throws: `DiskFailure`.
  package static func unfinished(in directory: String) throws(DiskFailure) -> [String] {
    guard try Disk.status(of: directory) != nil else { return [] }
    return try Disk.names(in: directory).filter { $0.hasSuffix(TreeRenameRequest.suffix) }
      .sorted().map { directory + "/" + $0 }
  }

  /// Brings the renaming of the journal at `path` to its end: forward, or back where that had begun.
  ///
  /// - Parameters:
  ///   - path: the journal.
  ///   - request: how; what becomes what is in the journal.
  ///   - store: the bucket.
  ///   - environment: what transfers of this process share.
  ///   - faults: lets steps of the disk fail in tests.
  ///   - report: is called from several threads and must not block.
  /// - Returns: what the journal said.
  /// - Throws: `TransferError`; the journal is still there then.
  package static func resume(
    _ path: String,
    like request: TreeRenameRequest,
    in store: any ObjectStore,
    environment: TransferEnvironment,
    faults: PartFile.DiskFaults? = nil,
    report: @escaping @Sendable (Progress) -> Void = { _ in }
  ) async throws(TransferError) -> RenameJournal {
    let (journal, record) = try await RenameRecord.open(path, environment, faults)
    guard journal.store == request.storeName else {
      throw .differs(field: "bucket", checkpoint: journal.store, request: request.storeName)
    }
    var resumed = request
    resumed.source = journal.source
    resumed.target = journal.target
    let rename = TreeRename(
      resumed,
      in: store,
      environment: environment,
      faults: faults,
      report: report
    )
    if journal.isUndoing {
      try await rename.undo(record)
    } else {
      try await rename.carryOut(record)
    }
    return journal
  }

  /// Copies and deletes until nothing is left under the old prefix.
  @discardableResult
  private func carryOut(_ record: RenameRecord) async throws(TransferError) -> Int {
    var hasWayBack = true
    do throws(TransferError) {
      for _ in 0..<Self.roundCountMax {
        let listed = try await list(request.source)
        if listed.isEmpty { return try await finish(record, leftCount: 0) }
        let uncopied = listed.filter { record.copy(of: rest($0))?.source != $0.version.state }
        guard uncopied.isEmpty else {
          try await copy(uncopied, of: listed, record)
          continue
        }
        // Who cancels from here on waits for the end.
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
      return try await finish(record, leftCount: try await list(request.source).count)
    } catch {
      if hasWayBack { await takeBack(record) }
      throw error
    }
  }

  /// Ends it; what is left was added by others meanwhile, and stays where they put it.
  private func finish(
    _ record: RenameRecord,
    leftCount: Int
  ) async throws(TransferError) -> Int {
    if leftCount > 0 {
      environment.log.write(
        .warning,
        "keys were added faster than they could be moved: \(leftCount) stay under the old name",
        ["key": "\(request.source)"]
      )
    }
    try await record.remove()
    return leftCount
  }

  /// What follows the old prefix.
  func rest(_ object: ObjectMetadata) -> [UInt8] {
    Array(object.key.bytes.dropFirst(request.source.bytes.count))
  }

  /// What goes along with a request that takes up to `patience`.
  func context(_ patience: Duration = MultipartSteps.shortPatience) -> RequestContext {
    RequestContext(
      deadline: environment.time.now + patience,
      retryCountMax: request.retryCountMax
    )
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
}
