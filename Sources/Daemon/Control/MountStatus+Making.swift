package import Core
package import Support

extension MountStatus {
  /// Creates the status of a mount that is up, without transfers and failures.
  package init(
    mountpoint: String,
    bucket: String,
    processID: Int32,
    since: Timestamp,
    isReadOnly: Bool,
    cache: Cache,
    memory: Memory,
    counters: Counters
  ) {
    self.mountpoint = mountpoint
    self.bucket = bucket
    pid = processID
    self.since = since.iso8601
    state = .serving
    readOnly = isReadOnly
    self.cache = cache
    self.memory = memory
    self.counters = counters
    transfers = []
    unsaved = []
    errors = []
  }

  /// Creates the status of a mount whose daemon doesn't answer.
  package init(silentAt mountpoint: String, bucket: String, processID: Int32?) {
    self.mountpoint = mountpoint
    self.bucket = bucket
    pid = processID
    answers = false
    state = .notAnswering
  }
}

extension MountStatus.Counters {
  /// Creates counters from what was counted; the operations that the format promises are always there.
  package init(_ counts: Metrics.Snapshot) {
    let promised: [StoreOperation] = [
      .getObject, .headObject, .listObjects, .copyObject, .uploadPartCopy,
    ]
    requests = Dictionary(
      promised.map { ($0.rawValue, 0) } + counts.requests.map { ($0.key.rawValue, $0.value) },
      uniquingKeysWith: { $1 }
    )
    retries = counts.retryCount
    bytesReceived = counts.receivedByteCount
    bytesSent = counts.sentByteCount
    cacheHitBytes = counts.hitByteCount
    cacheMissBytes = counts.missByteCount
  }
}

extension MountStatus.Failure {
  /// Creates the entry of a record; `errnoName` is what the application was told, such as `EIO`.
  package init(_ record: ErrorRing.Record, errnoName: String) {
    time = record.time.iso8601
    operation = record.operation
    path = record.path
    errno = errnoName
    code = record.error.cause?.code
    requestID = record.error.cause?.requestID
    message = record.error.message
  }
}
