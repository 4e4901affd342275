package import Core
internal import Support

/// A bucket in memory that behaves as a real store does, with faults and delays on demand.
///
/// It has no script: objects are there when they were put, tags change with every write, listings
/// come in byte order and in pages, and conditions hold. A test arranges objects with `place`, says
/// with a `FaultPlan` which calls go wrong, holds calls up with `hook`, and afterwards looks at
/// `calls` and at the objects.
///
/// A call that the hook holds up still ends by its deadline (of `time`) and when it is cancelled.
package final class SimulatedStore: ObjectStore {
  /// How the store differs from a well-behaved one; the defaults are Amazon S3's.
  package struct Behaviour: Sendable {
    /// Bytes of a body that a sink is given at once, at most.
    package var bodyChunkSize = 64 << 10
    /// Entries of a listing page, at most, whatever is asked for.
    package var pageCountMax = 1000
    /// The least size of every upload part but the last.
    package var partSizeMin = 5 << 20
    /// The size up to which an object, or a range of one, is copied in one request.
    package var copySizeMax = 5 << 30
    /// True if conditions of writes are obeyed; some stores ignore them and overwrite.
    package var obeysWriteConditions = true
    /// True if a copy checks its source's version.
    package var obeysCopySourceCondition = true
    /// True to list `a/b` before `a-b`, as stores that keep a tree do.
    package var listsInTreeOrder = false
    /// True if objects are renamed without a copy.
    package var renamesNatively = false
    /// False if only a try tells whether objects are renamed without a copy.
    package var tellsWhetherItRenames = true
    /// True if headers and user metadata are replaced where the object is.
    package var replacesMetadataInPlace = false
    /// True if modification times can be set.
    package var setsTimes = false
    /// True if one request tells what a key is.
    package var tellsKeyStatus = false
    /// True if directories exist by themselves: a listing doesn't show the one that it is of.
    package var hasDirectories = false
    /// False if directories' markers have no user metadata, whatever they are given.
    package var keepsMarkerMetadata = true
    /// True if one request removes a directory with all that is in it.
    package var removesDirectories = false
    /// True to give a copy in one piece its source's tag, as most stores do: a digest.
    package var copiesKeepTags = false
    /// True to keep the CRC-64 of each object and of each part.
    package var keepsChecksums = false
    /// True to give objects and parts the tags that most stores do: digests.
    package var tagsAreDigests = false

    /// Creates the behaviour of a good store.
    package init() {}
  }

  /// An object as it is kept.
  struct Object: Sendable {
    var content: SimulatedContent
    var etag: ETag
    var lastModified: Timestamp
    var headers = ContentHeaders()
    var storageClass: String?
    var userMetadata: [String: String] = [:]
    var tags: [String: String] = [:]
    var isArchived = false
    var crc64: UInt64?
  }

  /// A multipart upload as it is kept.
  struct Upload: Sendable {
    var request: PutRequest
    var initiated: Timestamp
    var parts: [Int: Part] = [:]

    struct Part: Sendable {
      var content: SimulatedContent
      var etag: ETag
      var crc64: UInt64?
    }
  }

  /// Everything that changes.
  struct State {
    var objects: [ObjectKey: Object] = [:]
    var uploads: [String: Upload] = [:]
    var calls: [Call] = []
    /// How many calls came before the first of `calls`.
    var forgottenCallCount = 0
    var lastNumber = 0
    var sortedKeys: [ObjectKey]?
    var hasTriedToRename = false
    /// Other buckets of the same store, to copy from.
    var neighbours: [String: SimulatedStore] = [:]
    var hook: (@Sendable (Call, Call.Moment) async -> Void)?
    var damage: (@Sendable (Call) -> Bool)?
  }

  package let name: String
  /// The clock that deadlines and dates come from.
  package let time: any TimeSource
  /// Which calls go wrong.
  package let faults: FaultPlan
  let behaviour: Behaviour
  let state = Lock(State())
  private let timers: Timers

  /// Creates an empty bucket.
  package init(
    name: String = "s3://simulated",
    time: any TimeSource = SimulatedClock(),
    faults: FaultPlan = FaultPlan(),
    behaviour: Behaviour = Behaviour()
  ) {
    self.name = name
    self.time = time
    self.faults = faults
    self.behaviour = behaviour
    timers = Timers(time: time)
  }

  package func storeTime(at own: Timestamp) -> Timestamp { time.wallTime }

  package var capabilities: StoreCapabilities {
    var capabilities = StoreCapabilities()
    let knowsRename = behaviour.tellsWhetherItRenames || state.withLock { $0.hasTriedToRename }
    capabilities.hasNativeRename = knowsRename ? behaviour.renamesNatively : nil
    capabilities.hasConditionalCreate = behaviour.obeysWriteConditions
    capabilities.hasConditionalDelete = behaviour.obeysWriteConditions
    capabilities.hasConditionalReplace = behaviour.obeysWriteConditions
    capabilities.hasConditionalComplete = behaviour.obeysWriteConditions
    capabilities.listsInByteOrder = !behaviour.listsInTreeOrder
    capabilities.hasDirectories = behaviour.hasDirectories
    capabilities.hasRecursiveDelete = behaviour.removesDirectories
    capabilities.hasInPlaceMetadata = behaviour.replacesMetadataInPlace
    capabilities.hasSettableTime = behaviour.setsTimes
    capabilities.hasKeyStatus = behaviour.tellsKeyStatus
    capabilities.wholeObjectChecksum = behaviour.keepsChecksums ? .crc64 : .none
    capabilities.singleRequestSizeMax = behaviour.copySizeMax
    capabilities.partSizeMin = behaviour.partSizeMin
    return capabilities
  }
}

// What a test does behind the store's back; nothing of it is a call.
extension SimulatedStore {
  /// Puts an object there, or a new version of it; `crc64` is told instead of the right one, by any store.
  @discardableResult
  package func place(
    _ key: ObjectKey,
    _ content: SimulatedContent,
    userMetadata: [String: String] = [:],
    isArchived: Bool = false,
    crc64: UInt64? = nil
  ) -> ObjectVersion {
    let now = time.wallTime
    let checksum = crc64 ?? (behaviour.keepsChecksums ? content.crc64 : nil)
    return state.withLock { state in
      let object = Object(
        content: content,
        etag: state.makeTag(),
        lastModified: now,
        userMetadata: userMetadata,
        isArchived: isArchived,
        crc64: checksum
      )
      state.set(key, object)
      return object.metadata(key).version
    }
  }

  /// Puts an object there with all that `request` says of it.
  @discardableResult
  package func place(_ request: PutRequest, _ content: SimulatedContent) -> ObjectVersion {
    let now = time.wallTime
    let checksum = behaviour.keepsChecksums ? content.crc64 : nil
    return state.withLock { state in
      let etag = state.makeTag()
      return state.store(request, content, etag: etag, crc64: checksum, at: now).version
    }
  }

  /// The tags of the object at `key`; nil if there is none.
  package func tags(at key: ObjectKey) -> [String: String]? {
    state.withLock { $0.objects[key]?.tags }
  }

  /// Lets `other` be copied from as the bucket `name`.
  package func adjoin(_ other: SimulatedStore, as name: String) {
    state.withLock { $0.neighbours[name] = other }
  }

  /// The parts of the uploads that are neither complete nor aborted, all together.
  package var openPartCount: Int {
    state.withLock { $0.uploads.values.reduce(0) { $0 + $1.parts.count } }
  }

  /// Takes an object away.
  package func remove(_ key: ObjectKey) {
    state.withLock { $0.set(key, nil) }
  }

  /// The bytes at `key`; nil if there is no object.
  package func bytes(at key: ObjectKey) -> [UInt8]? {
    state.withLock { $0.objects[key]?.content }?.allBytes
  }

  /// The content at `key`, without making its bytes; nil if there is no object.
  package func content(at key: ObjectKey) -> SimulatedContent? {
    state.withLock { $0.objects[key]?.content }
  }

  /// The facts of the object at `key`; nil if there is none.
  package func metadata(at key: ObjectKey) -> ObjectMetadata? {
    state.withLock { $0.objects[key]?.metadata(key) }
  }

  /// All keys in byte order.
  package var keys: [ObjectKey] { state.withLock { $0.objects.keys.sorted() } }

  /// The ids of the uploads that are neither complete nor aborted, by key.
  package var openUploads: [UploadReference] {
    state.withLock { state in
      state.uploads.map { UploadReference(key: $0.value.request.key, uploadID: $0.key) }
    }.sorted { ($0.key, $0.uploadID) < ($1.key, $1.uploadID) }
  }

  /// All calls so far, in the order in which they began.
  package var calls: [Call] { state.withLock { $0.calls } }

  /// Forgets the calls so far; a call under way is counted no further.
  package func forgetCalls() {
    state.withLock { state in
      state.forgottenCallCount += state.calls.count
      state.calls = []
    }
  }

  /// Tells of which calls the body is damaged on its way to the store; nil damages none.
  package var damage: (@Sendable (Call) -> Bool)? {
    get { state.withLock { $0.damage } }
    set { state.withLock { $0.damage = newValue } }
  }

  /// Is awaited at each moment of each call, which goes on when it returns; nil holds nothing up.
  package var hook: (@Sendable (Call, Call.Moment) async -> Void)? {
    get { state.withLock { $0.hook } }
    set { state.withLock { $0.hook = newValue } }
  }
}

// What the operations are made of.
extension SimulatedStore {
  /// Why a wait ended.
  private enum WaitEnd: Sendable {
    case opened
    case cancelled
    case timedOut
  }

  /// Runs one call: logs it, lets the plan strike it, and does `body` at the store.
  func perform<Answer: Sendable>(
    _ call: Call,
    context: RequestContext,
    sentByteCount: Int = 0,
    _ body: (inout State) throws(StoreError) -> Answer
  ) async throws(StoreError) -> Answer {
    let running = RunningCall(store: self, call: call, context: context)
    do throws(StoreError) {
      try await running.start()
      let effect = faults.strike(call.operation, key: call.key)
      switch effect {
      case .fail(let kind, let byteCount):
        running.update { $0.sentByteCount = min(byteCount, sentByteCount) }
        throw running.error(kind, "the simulated store failed")
      case .hang(let byteCount):
        running.update { $0.sentByteCount = min(byteCount, sentByteCount) }
        throw await running.hang()
      case .loseAnswer, .replaceObject, nil:
        break
      }
      running.update { $0.sentByteCount = sentByteCount }
      let answer = try state.withLock { (state: inout State) throws(StoreError) in
        try body(&state)
      }
      try await running.pass(.answer)
      if case .loseAnswer(let kind) = effect {
        throw running.error(kind, "the simulated answer was lost")
      }
      running.end(.succeeded)
      return answer
    } catch {
      running.end(.failed(error.kind))
      throw error
    }
  }

  /// Waits for `hook`, or for ever if there is none; the deadline and cancellation end the wait.
  fileprivate func wait(
    until deadline: Instant,
    for hook: (@Sendable () async -> Void)?
  ) async -> StoreError.Kind? {
    let end = Lock(WaitEnd?.none)
    let gate = Gate()
    let finish: @Sendable (WaitEnd) -> Void = { reason in
      end.withLock { $0 = $0 ?? reason }
      gate.open()
    }
    let alarm = setAlarm(at: deadline) { finish(.timedOut) }
    let task = hook.map { hook in
      Task {
        await hook()
        finish(.opened)
      }
    }
    await withTaskCancellationHandler {
      await gate.wait()
    } onCancel: {
      finish(.cancelled)
    }
    task?.cancel()
    alarm()
    switch end.withLock({ $0 }) {
    case .opened, nil: return nil
    case .cancelled: return .cancelled
    case .timedOut: return .timedOut
    }
  }

  /// Runs `action` at `deadline` on whichever clock this is, and returns what takes that back.
  private func setAlarm(
    at deadline: Instant,
    _ action: @escaping @Sendable () -> Void
  ) -> @Sendable () -> Void {
    guard deadline != .distantFuture else { return {} }
    if let clock = time as? SimulatedClock {
      let token = clock.schedule(at: deadline, action)
      return { clock.cancel(token) }
    }
    let token = timers.schedule(at: deadline, action)
    return { [timers] in timers.cancel(token) }
  }
}

/// A call under way: where it stands in the log, and what holds it up.
struct RunningCall: Sendable {
  let store: SimulatedStore
  let call: Call
  let context: RequestContext
  private let number: Int

  /// Enters a call in the log.
  init(store: SimulatedStore, call: Call, context: RequestContext) {
    self.store = store
    self.call = call
    self.context = context
    number = store.state.withLock { state in
      state.calls.append(call)
      return state.forgottenCallCount + state.calls.count - 1
    }
  }

  /// Lets the request arrive.
  func start() async throws(StoreError) {
    try check()
    try await pass(.request)
  }

  /// Waits for the hook at one moment.
  func pass(_ moment: Call.Moment) async throws(StoreError) {
    if let hook = store.hook {
      let current = store.state.withLock { state in
        let index = number - state.forgottenCallCount
        return index >= 0 ? state.calls[index] : call
      }
      let kind = await store.wait(until: context.deadline) { await hook(current, moment) }
      if let kind { throw error(kind, "given up while it was held up") }
    }
    try check()
  }

  /// Throws if the call must end now.
  func check() throws(StoreError) {
    if Task.isCancelled { throw error(.cancelled, "the caller gave up") }
    guard store.time.now < context.deadline else {
      throw error(.timedOut, "the deadline passed")
    }
  }

  /// Waits for the deadline or for cancellation.
  func hang() async -> StoreError {
    let kind = await store.wait(until: context.deadline, for: nil)
    return error(kind ?? .timedOut, "the simulated store did not answer")
  }

  /// Changes the call's entry in the log.
  func update(_ change: (inout Call) -> Void) {
    store.state.withLock { state in
      let index = number - state.forgottenCallCount
      if index >= 0 { change(&state.calls[index]) }
    }
  }

  /// Notes how the call ended.
  func end(_ outcome: Call.Outcome) {
    update { $0.outcome = outcome }
  }

  /// An error of this call.
  func error(_ kind: StoreError.Kind, _ message: String, code: String? = nil) -> StoreError {
    StoreError(kind, call.operation, key: call.key, code: code, message: message)
  }
}

extension SimulatedStore.State {
  /// A tag that was never given before.
  mutating func makeTag(_ suffix: String = "") -> ETag {
    lastNumber += 1
    return ETag("v\(lastNumber)\(suffix)")
  }

  /// Sets or removes the object at `key`.
  mutating func set(_ key: ObjectKey, _ object: SimulatedStore.Object?) {
    if (objects[key] == nil) != (object == nil) { sortedKeys = nil }
    objects[key] = object
  }
}
