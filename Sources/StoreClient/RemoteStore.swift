package import Core
package import HTTP
package import StoreWire
package import Support

/// A bucket of a store that is reached over the network.
///
/// Each operation builds its request as a value, signs it anew for every try, sends it, and reads
/// the answer with equal distrust whatever its status says. What a failed try means is decided by
/// `RetryMachine` and `CorrectionBudget`; docs/protocol.md has the table. The store does not limit
/// how much runs at once: its callers do.
package final class RemoteStore: ObjectStore {
  /// What the store is made of; tests bring their own.
  package struct Surroundings: Sendable {
    /// Sends requests.
    package var client: any HTTPClient
    /// The clocks.
    package var time: any TimeSource
    /// Waits until a moment of `time`, or until the task is cancelled.
    package var sleep: @Sendable (Instant) async -> Void
    /// Returns a number from 0 to 1, for the waits between tries.
    package var random: @Sendable () -> Double
    /// Where requests and bytes are counted.
    package var metrics: Metrics
    /// Where each request leaves a line at debug level.
    package var log: Log

    /// Creates surroundings; whatever isn't given is the real thing.
    package init(
      client: any HTTPClient,
      time: any TimeSource = SystemClock(),
      sleep: (@Sendable (Instant) async -> Void)? = nil,
      random: @escaping @Sendable () -> Double = { Double.random(in: 0...1) },
      metrics: Metrics = Metrics(),
      log: Log = Log()
    ) {
      self.client = client
      self.time = time
      if let sleep {
        self.sleep = sleep
      } else {
        let timers = Timers(time: time)
        self.sleep = { await timers.sleep(until: $0) }
      }
      self.random = random
      self.metrics = metrics
      self.log = log
    }
  }

  /// The bucket's own name.
  let bucket: String
  let credentials: CredentialChain
  let surroundings: Surroundings
  let policy: RetryPolicy
  let session: Lock<StoreSession>
  /// The protocol that is spoken.
  let dialect: any WireDialect
  /// What guards every object that is written.
  let protection: ObjectProtection

  package let name: String

  package var capabilities: StoreCapabilities { session.withLock { $0.capabilities } }

  /// Creates the store of one bucket; nothing is sent yet.
  ///
  /// - Throws: `.invalidRequest` if the bucket's name can't be sent.
  package init(
    bucket: String,
    settings: StoreSettings,
    credentials: CredentialChain,
    surroundings: Surroundings,
    policy: RetryPolicy = RetryPolicy()
  ) throws(StoreError) {
    guard BucketName.isUsable(bucket) else {
      throw StoreError(
        .invalidRequest,
        .headBucket,
        message: "\"\(bucket.utf8.printable)\" can't be the name of a bucket"
      )
    }
    self.bucket = bucket
    dialect = settings.wireDialect(bucket: bucket)
    name = "\(settings.dialect)://\(bucket)"
    protection = settings.protection
    self.credentials = credentials
    self.surroundings = surroundings
    self.policy = policy
    session = Lock(StoreSession(settings: settings, dialect: dialect))
  }
}
