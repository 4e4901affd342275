import Core
import Simulation
import Support
import Transfer

/// A bucket with an object, another one to copy it to, and a directory for checkpoints.
struct CopyBench {
  /// The bytes of a part: few, because making them is most of a test's time.
  static let partSize = 1000
  let directory: TestDirectory
  let faults: FaultPlan
  let source: SimulatedStore
  let target: SimulatedStore
  let version: ObjectVersion
  let content: SimulatedContent
  let environment: TransferEnvironment

  /// Creates a bench whose object has `size` bytes.
  ///
  /// - Parameters:
  ///   - size: the object's bytes.
  ///   - behaviour: of both buckets.
  ///   - faults: of both buckets, in the order of their calls.
  ///   - time: the clock of both.
  /// - Throws: if there can be no directory.
  init(
    size: Int,
    behaviour: SimulatedStore.Behaviour = SimulatedStore.Behaviour(),
    faults: FaultPlan = FaultPlan(),
    time: any TimeSource = SystemClock()
  ) throws {
    self.faults = faults
    directory = try TestDirectory()
    var behaviour = behaviour
    behaviour.partSizeMin = 1
    source = SimulatedStore(
      name: "s3://source",
      time: time,
      faults: faults,
      behaviour: behaviour
    )
    target = SimulatedStore(
      name: "s3://target",
      time: time,
      faults: faults,
      behaviour: behaviour
    )
    target.adjoin(source, as: "source")
    content = .words(size: size, seed: 3)
    var put = PutRequest(
      key: Self.sourceKey,
      contentType: "video/mp4",
      userMetadata: ["project": "blue"],
      storageClass: "STANDARD_IA"
    )
    put.headers.cacheControl = "no-store"
    put.headers.contentDisposition = "inline"
    put.tags = ["team": "film", "year": "2026"]
    version = source.place(put, content)
    environment = TransferEnvironment(
      scheduler: FetchScheduler(parallel: 4, budget: MemoryBudget(limit: 64 << 20)),
      time: time,
      log: Log(level: .error)
    )
  }

  static let sourceKey = ObjectKey("films/a b.mp4")
  static let targetKey = ObjectKey("copies/c")

  /// The request for a copy in parts, with a checkpoint.
  var request: ObjectCopyRequest {
    var request = ObjectCopyRequest(
      from: Self.sourceKey,
      of: source.name,
      bucket: "source",
      to: Self.targetKey,
      of: target.name
    )
    request.limits.sizeMin = 1
    request.partSize = Self.partSize
    request.wholeSizeMax = 0
    request.parallel = 3
    request.checkpoint = checkpointPath
    return request
  }

  var checkpointPath: String { directory.file("checkpoint") }

  func copy(
    _ request: ObjectCopyRequest,
    diskFaults: PartFile.DiskFaults? = nil,
    report: @escaping @Sendable (MultipartEvent) -> Void = { _ in }
  ) -> ObjectCopy {
    ObjectCopy(
      request,
      from: source,
      to: target,
      in: environment,
      faults: diskFaults,
      report: report
    )
  }

  /// Runs a copy and returns why it failed; nil if it did not.
  @discardableResult
  func outcome(
    _ request: ObjectCopyRequest? = nil,
    diskFaults: PartFile.DiskFaults? = nil,
    report: @escaping @Sendable (MultipartEvent) -> Void = { _ in }
  ) async -> TransferError? {
    do throws(TransferError) {
      _ = try await copy(request ?? self.request, diskFaults: diskFaults, report: report).run()
      return nil
    } catch {
      return error
    }
  }

  func abortOutcome(_ request: ObjectCopyRequest? = nil) async -> TransferError? {
    do throws(TransferError) {
      try await copy(request ?? self.request).abort()
      return nil
    } catch {
      return error
    }
  }

  /// The numbers of the parts that the target was asked to copy, in order of their numbers.
  var copiedParts: [Int] { target.calls.of(.uploadPartCopy).compactMap(\.partNumber).sorted() }

  /// Names in the directory.
  var leftovers: [String] { directory.names().sorted() }

  /// True if the copy has the source's bytes.
  var isCopied: Bool { target.bytes(at: Self.targetKey) == content.allBytes }

  /// Fails the calls of an operation from the `number`th on, for good.
  func fail(_ operation: StoreOperation, from number: Int, _ kind: StoreError.Kind = .unreachable) {
    faults.add(Fault(.fail(kind), operation: operation, callNumber: number, callCount: .max / 2))
  }
}

/// Gathers the events of a transfer.
final class Events: Sendable {
  private let events = Lock<[MultipartEvent]>([])

  var all: [MultipartEvent] { events.withLock { $0 } }

  var report: @Sendable (MultipartEvent) -> Void {
    { event in self.events.withLock { $0.append(event) } }
  }

  func count(where matches: (MultipartEvent) -> Bool) -> Int { all.count(where: matches) }
}
