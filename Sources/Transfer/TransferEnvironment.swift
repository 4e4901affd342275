package import Core
package import Support

/// What all transfers of a process share.
package struct TransferEnvironment: Sendable {
  /// Whose turn it is.
  package var scheduler: FetchScheduler
  /// Threads for disk calls that may take long.
  package var disk: BlockingPool
  /// Deadlines.
  package var timers: Timers
  /// The clocks; the steady one is the store's too.
  package var time: any TimeSource
  /// Counts reads.
  package var metrics: Metrics
  /// Where to report what no caller is told.
  package var log: Log
  /// Hears what comes along with bytes.
  package let answers = AnswerListener()

  /// Creates an environment.
  package init(
    scheduler: FetchScheduler,
    disk: BlockingPool = BlockingPool(threadCount: 2),
    timers: Timers = Timers(),
    time: any TimeSource = SystemClock(),
    metrics: Metrics = Metrics(),
    log: Log = Log()
  ) {
    self.scheduler = scheduler
    self.disk = disk
    self.timers = timers
    self.time = time
    self.metrics = metrics
    self.log = log
  }
}

/// How patient a download is, and what it does when the disk fails.
package struct DownloadSettings: Sendable {
  /// How long a reader waits for its bytes; nil is for ever.
  package var operationDeadline: Duration? = .seconds(60)
  /// How long one request may take, the store's retries included.
  ///
  /// One that brought something by then is asked for the rest again if somebody waits for it.
  package var flightDeadline: Duration = .seconds(60)
  /// How often the store retries one request; nil leaves it to the deadline.
  package var retryCountMax: Int?
  /// Readers whose bytes the disk doesn't take get them from memory.
  package var readsUncached = true
  /// How long reads stay uncached after the disk refused bytes.
  package var diskRetryDelay: Duration = .seconds(5)
  /// The machine's distances.
  package var limits = DownloadMachine.Limits()

  /// Creates the default settings.
  package init() {}
}
