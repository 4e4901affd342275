import Core
import Simulation
import Support
import Transfer

/// A store with one object and a directory for its part file.
struct Workbench {
  let directory: TestDirectory
  let store: SimulatedStore
  let faults: FaultPlan
  let content: SimulatedContent
  let version: ObjectVersion
  let environment: TransferEnvironment
  let budget = MemoryBudget(limit: 64 << 20)

  init(
    size: Int,
    chunkSize: Int = 16 << 10,
    parallel: Int = 4,
    faults: FaultPlan = FaultPlan()
  ) throws {
    self.faults = faults
    directory = try TestDirectory()
    var behaviour = SimulatedStore.Behaviour()
    behaviour.bodyChunkSize = chunkSize
    store = SimulatedStore(time: SystemClock(), faults: faults, behaviour: behaviour)
    // Made once, because making them byte by byte is most of a test's time.
    content = .bytes(SimulatedContent.words(size: size, seed: 7).allBytes)
    version = store.place(ObjectKey("object"), content)
    environment = TransferEnvironment(
      scheduler: FetchScheduler(parallel: parallel, budget: budget),
      log: Log(level: .error)
    )
  }

  var identity: CheckpointIdentity { CheckpointIdentity(store: store.name, version: version) }

  var paths: PartFile.Paths {
    PartFile.Paths(data: directory.file("data"), checkpoint: directory.file("checkpoint"))
  }

  func open(
    settings: DownloadSettings = DownloadSettings(),
    observer: any DownloadObserver = UnobservedDownload(),
    faults: PartFile.DiskFaults? = nil
  ) throws -> Download {
    Download(
      try PartFile.open(paths, identity: identity, time: environment.time, faults: faults),
      from: store,
      in: environment,
      settings: settings,
      observer: observer
    )
  }

  func bytes(_ range: ByteRange) -> [UInt8] {
    content.bytes(range.lowerBound..<range.upperBound)
  }

  /// The ranges of the store's GETs so far, in order.
  var fetched: [ByteRange] { store.calls.of(.getObject).compactMap(\.range) }
}

/// Waits until `condition` holds.
///
/// - Returns: false if it does not within a minute.
func eventually(_ condition: () -> Bool) async -> Bool {
  let clock = SystemClock()
  let deadline = clock.now + .seconds(60)
  while !condition() {
    guard clock.now < deadline else { return false }
    // A pause between two looks, so that those who are waited for get the few threads there are.
    try? await Task.sleep(for: .milliseconds(2))
  }
  return true
}

/// A disk that is full from some step on.
final class FailingDisk: Sendable {
  private let state = Lock((count: 0, failing: ClosedRange<Int>?.none))
  private let step: PartFile.DiskStep?

  /// Fails the steps of a kind whose numbers, from 1, are in `failing`.
  init(_ step: PartFile.DiskStep? = nil, failing: ClosedRange<Int>? = 1...Int.max) {
    self.step = step
    state.withLock { $0.failing = failing }
  }

  var stepCount: Int { state.withLock { $0.count } }

  func repair() { state.withLock { $0.failing = nil } }

  var faults: PartFile.DiskFaults {
    { (step) throws(DiskFailure) in try self.strike(step) }
  }

  private func strike(_ step: PartFile.DiskStep) throws(DiskFailure) {
    guard self.step == nil || step == self.step else { return }
    let fails = state.withLock { state in
      state.count += 1
      return state.failing?.contains(state.count) ?? false
    }
    if fails { throw DiskFailure(errno: 28, action: "\(step)", reason: "No space left on device") }
  }
}
