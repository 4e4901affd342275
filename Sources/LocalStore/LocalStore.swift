package import Core
package import Support

/// A bucket kept in a local directory: the embedded default, without a server or credentials.
///
/// An object is a regular file, its key the path below the directory, its bytes the file's. What
/// other programs put there are objects too. A key that ends in a slash is a directory: one that is
/// empty, or that was stored as an object and has the attribute `user.dipper.marker`. A directory
/// without that attribute goes with its last object, as a prefix does; one that was an object
/// because it was empty gets it when the first object is put there.
///
/// Symbolic links, devices and the like are no objects, and none is followed: nothing leads out of
/// the directory. A directory that has nothing else still shows as a common prefix. Keys that a
/// directory can't hold (an empty name, `.` or `..`, a name over 255 bytes, a NUL, `a` beside
/// `a/b`, over 1,024 bytes in all) are refused when they are put and never found.
///
/// Writes go to a file of their own under `.dipper-local/`, are on the disk when the call returns,
/// and appear at once and whole. Conditions hold against every other process that uses the store;
/// a program that writes the directory by itself can slip between check and rename, except when
/// the condition is that nothing is there. Header fields, user metadata and tags are kept in extended
/// attributes, where the file system has them. Parts of uploads may be of any size, and completing
/// copies them, which needs the space twice unless the file system shares blocks.
///
/// A call that waits for the disk ends at its deadline or its cancellation between two steps of at
/// most 8 MiB.
package final class LocalStore: ObjectStore {
  /// Disk calls of all local stores: a few threads, so that a slow disk doesn't hold up the rest.
  private static let pool = BlockingPool(threadCount: 8)

  package let name: String
  package let capabilities: StoreCapabilities

  private let directory: String
  private let time: any TimeSource
  private let synchronizes: Bool
  private let metrics: Metrics
  private let pacer: Pacer
  private let namesCache = NamesCache()
  private let hasCleared = Lock(false)

  /// Creates a store on a directory, which need not be there yet.
  ///
  /// - Parameters:
  ///   - directory: the directory's path.
  ///   - time: the clock of the deadlines.
  ///   - synchronizes: false to leave it to the kernel when writes reach the disk.
  ///   - rateMax: bytes of objects per second for all calls together; nil is no limit.
  ///   - metrics: where calls and bytes are counted, as those of a remote store are.
  package init(
    directory: String,
    time: any TimeSource = SystemClock(),
    synchronizes: Bool = true,
    rateMax: Int? = nil,
    metrics: Metrics = Metrics()
  ) {
    self.directory = directory
    self.time = time
    self.synchronizes = synchronizes
    self.metrics = metrics
    pacer = Pacer(rate: rateMax)
    name = "file://\(directory)"
    var capabilities = StoreCapabilities()
    capabilities.hasConditionalCreate = true
    capabilities.hasConditionalDelete = true
    capabilities.hasConditionalReplace = true
    capabilities.hasConditionalComplete = true
    capabilities.partSizeMin = 1
    capabilities.listsInByteOrder = true
    self.capabilities = capabilities
  }

  /// Runs one call on a thread for disk calls.
  func run<Answer: Sendable>(
    _ operation: StoreOperation,
    key: ObjectKey? = nil,
    context: RequestContext,
    _ body: @escaping @Sendable (LocalCall) throws(StoreError) -> Answer
  ) async throws(StoreError) -> Answer {
    metrics.requestStarted(operation, isRetry: false)
    let call = LocalCall(
      operation,
      key: key,
      deadline: context.deadline,
      time: time,
      pacer: pacer,
      metrics: metrics
    )
    let outcome = await withTaskCancellationHandler {
      await Self.pool.run { () -> Result<Answer, StoreError> in
        do throws(StoreError) {
          try call.check()
          return .success(try body(call))
        } catch {
          return .failure(error)
        }
      }
    } onCancel: {
      call.cancel()
    }
    return try outcome.get()
  }

  /// Opens the store's directory.
  func openTree(_ call: LocalCall) throws(StoreError) -> LocalTree {
    do throws(DiskFailure) {
      return try LocalTree(path: directory)
    } catch {
      let path = directory.utf8.printable
      switch DirectoryProblem(error) {
      case .missing: throw call.error(.noSuchBucket, "the directory \(path) does not exist")
      case .notDirectory: throw call.error(.noSuchBucket, "\(path) is not a directory")
      case .unreadable: throw call.error(.accessDenied, "the directory \(path) can't be read")
      case nil: throw call.failure(error)
      }
    }
  }

  /// Opens what a write needs, and on the store's first write clears what killed processes left.
  func openCommit(_ call: LocalCall) throws(StoreError) -> Commit {
    let tree = try openTree(call)
    let workspace = try call.attempt { () throws(DiskFailure) in try Workspace(in: tree) }
    let isFirst = hasCleared.withLock { hasCleared in
      defer { hasCleared = true }
      return !hasCleared
    }
    if isFirst { try call.attempt { () throws(DiskFailure) in try workspace.removeLeftovers() } }
    return Commit(tree: tree, workspace: workspace, synchronizes: synchronizes, call: call)
  }

  /// Opens a page of a listing.
  func openListing(_ request: ListRequest, _ call: LocalCall) throws(StoreError) -> LocalListing {
    try LocalListing(request, tree: openTree(call), cache: namesCache, call: call)
  }
}
