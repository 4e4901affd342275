internal import Caching
internal import Core
package import Dipper
package import Support
internal import Transfer

/// `dipper recover` of a bucket that no mount of this machine has to be asked about.
package struct BucketRecovery: Sendable {
  /// Why nothing could be done.
  package struct Refusal: Error, Hashable, Sendable {
    /// In one sentence.
    package let sentence: String
    /// Another process works with this machine's journals.
    package let isHeld: Bool
  }

  private let bucket: Bucket
  private let cacheDirectory: String
  private let log: Log

  /// Creates a recovery as a command line asks for it.
  package init(_ invocation: Invocation, of bucket: Bucket, log: Log) {
    self.bucket = bucket
    self.log = log
    cacheDirectory = MountSettings.cacheDirectory(
      invocation.text(.cacheDirectory),
      ProcessEnvironment.variables
    )
  }

  /// Looks for unfinished renamings, and finishes them if that is wanted.
  package func run(finishes: Bool) async throws(Refusal) -> RecoveryReport {
    let timers = Timers(time: SystemClock())
    do throws(DiskFailure) {
      try timers.begin()
    } catch {
      throw Refusal(sentence: "\(error)", isHeld: false)
    }
    let environment = TransferEnvironment(
      scheduler: FetchScheduler(parallel: 8, budget: MemoryBudget(limit: 64 << 20)),
      timers: timers,
      log: log
    )
    // Its lock is what tells that no mount is at the journals.
    var cache: ObjectCache?
    do throws(CacheError) {
      let isThere = ObjectCache.isThere(root: cacheDirectory, storeName: bucket.location)
      if finishes || isThere { cache = try open(environment) }
    } catch {
      guard case .held(_, let holder) = error else {
        throw Refusal(sentence: error.description, isHeld: false)
      }
      guard !finishes else {
        throw Refusal(
          sentence: "\(holder) works with the journals of this bucket: give its mountpoint instead",
          isHeld: true
        )
      }
    }
    let outcome = await run(finishes: finishes, cache, environment)
    await cache?.close()
    switch outcome {
    case .success(let report): return report
    case .failure(let error): throw Refusal(sentence: "\(error)", isHeld: false)
    }
  }

  private func run(
    finishes: Bool,
    _ cache: ObjectCache?,
    _ environment: TransferEnvironment
  ) async -> Result<RecoveryReport, TransferError> {
    let directory = (cache?.path ?? cacheDirectory) + "/renames"
    do throws(TransferError) {
      if finishes {
        do throws(DiskFailure) { try Disk.createDirectory(directory) } catch { throw .disk(error) }
      }
      let recovery = RenameRecovery(
        of: bucket.store,
        at: bucket.location,
        below: ObjectKey(bucket.url.key).asBeginning,
        journalDirectory: directory,
        environment: environment
      )
      return .success(try await recovery.run(finishes: finishes, hasJournals: cache != nil))
    } catch {
      return .failure(error)
    }
  }

  private func open(_ environment: TransferEnvironment) throws(CacheError) -> ObjectCache {
    let settings = ObjectCache.Settings(
      root: cacheDirectory,
      storeName: bucket.location,
      holder: "dipper recover of \(bucket.url.bucketName)",
      byteCountMax: .max
    )
    return try ObjectCache(settings, of: bucket.store, in: environment)
  }
}

extension ObjectKey {
  /// The beginning of the keys in the directory of this name.
  var asBeginning: ObjectKey {
    bytes.isEmpty || isDirectoryMarker ? self : ObjectKey(bytes + [UInt8(ascii: "/")])
  }
}
