import Core
import Simulation
import Support
import Transfer

/// A file, a bucket to upload it to, and a directory for checkpoints.
struct UploadBench {
  /// The bytes of a part: few, because making them is most of a test's time.
  static let partSize = 1000
  static let key = ObjectKey("up/loaded")

  let directory: TestDirectory
  let faults: FaultPlan
  let store: SimulatedStore
  let bytes: [UInt8]
  let environment: TransferEnvironment
  private let logDirectory: TestDirectory

  init(
    size: Int,
    behaviour: SimulatedStore.Behaviour = SimulatedStore.Behaviour(),
    faults: FaultPlan = FaultPlan()
  ) throws {
    self.faults = faults
    directory = try TestDirectory()
    var behaviour = behaviour
    behaviour.partSizeMin = 1
    store = SimulatedStore(
      name: "s3://target",
      time: SystemClock(),
      faults: faults,
      behaviour: behaviour
    )
    bytes = SimulatedContent.words(size: size, seed: 5).allBytes
    try directory.write(bytes, to: "file")
    logDirectory = try TestDirectory()
    environment = TransferEnvironment(
      scheduler: FetchScheduler(parallel: 4, budget: MemoryBudget(limit: 64 << 20)),
      log: Log(target: .file(try LogFile(path: logDirectory.file("log"))))
    )
  }

  /// The request for an upload in parts, with a checkpoint.
  var request: ObjectUploadRequest {
    var target = PutRequest(
      key: Self.key,
      contentType: "video/mp4",
      userMetadata: ["project": "blue"],
      storageClass: "STANDARD_IA"
    )
    target.tags = ["team": "film"]
    var request = ObjectUploadRequest(to: target, of: store.name)
    request.limits.sizeMin = 1
    request.partSize = Self.partSize
    request.parallel = 3
    request.checkpoint = directory.file("checkpoint")
    return request
  }

  func upload(
    _ request: ObjectUploadRequest,
    diskFaults: PartFile.DiskFaults? = nil,
    report: @escaping @Sendable (MultipartEvent) -> Void = { _ in }
  ) -> ObjectUpload {
    ObjectUpload(
      of: directory.file("file"),
      request,
      to: store,
      in: environment,
      faults: diskFaults,
      report: report
    )
  }

  /// Runs an upload and returns why it failed; nil if it did not.
  @discardableResult
  func outcome(
    _ request: ObjectUploadRequest? = nil,
    diskFaults: PartFile.DiskFaults? = nil,
    report: @escaping @Sendable (MultipartEvent) -> Void = { _ in }
  ) async -> TransferError? {
    do throws(TransferError) {
      _ = try await upload(request ?? self.request, diskFaults: diskFaults, report: report).run()
      return nil
    } catch {
      return error
    }
  }

  /// What was logged.
  var log: String {
    String(decoding: (try? logDirectory.bytes(of: "log")) ?? [], as: UTF8.self)
  }

  /// Has the store begin uploads, and say so when `answer` opens.
  func holdBeginning(behind answer: Gate) {
    store.hook = { call, moment in
      if call.operation == .createMultipartUpload, moment == .answer { await answer.wait() }
    }
  }

  func abortOutcome() async -> TransferError? {
    do throws(TransferError) {
      try await upload(request).abort()
      return nil
    } catch {
      return error
    }
  }

  /// Uploads what a pipe brings, in pieces of an odd size, and returns why it failed.
  func streamOutcome(
    _ request: ObjectUploadRequest? = nil,
    report: @escaping @Sendable (MultipartEvent) -> Void = { _ in }
  ) async throws -> TransferError? {
    let (input, output) = try Self.pipe()
    let bytes = bytes
    let hasThread = Thread.start("test-writer") {
      let file = output.withLock { file in
        defer { file = nil }
        return file
      }
      // Nobody reads any more if the upload has failed.
      for start in stride(from: 0, to: bytes.count, by: 777) {
        let piece = Array(bytes[start..<min(start + 777, bytes.count)])
        guard (try? file?.write(piece)) != nil else { return }
      }
    }
    precondition(hasThread, "no thread")
    return await streamOutcome(input, request, report: report)
  }

  /// A pipe whose end to write into is the lock's alone, so that taking it out of there closes it.
  private static func pipe() throws -> (FileDescriptor, Lock<FileDescriptor?>) {
    let pipe = try Pipe()
    return (pipe.readEnd, Lock(pipe.writeEnd))
  }

  func streamOutcome(
    _ input: FileDescriptor,
    _ request: ObjectUploadRequest? = nil,
    report: @escaping @Sendable (MultipartEvent) -> Void = { _ in }
  ) async -> TransferError? {
    var request = request ?? self.request
    request.checkpoint = nil
    let upload = StreamUpload(
      of: input.number,
      request,
      to: store,
      in: environment,
      report: report
    )
    do throws(TransferError) {
      let stored = try await upload.run()
      _ = stored
      withExtendedLifetime(input) {}
      return nil
    } catch {
      withExtendedLifetime(input) {}
      return error
    }
  }

  /// The numbers of the parts that were sent, in order of their numbers.
  var sentParts: [Int] { store.calls.of(.uploadPart).compactMap(\.partNumber).sorted() }

  /// Names in the directory beside the file's.
  var leftovers: [String] { directory.names().filter { $0 != "file" } }

  /// True if the object has the file's bytes.
  var isUploaded: Bool { store.bytes(at: Self.key) == bytes }

  /// Fails the calls of an operation from the `number`th on, for good.
  func fail(_ operation: StoreOperation, from number: Int, _ kind: StoreError.Kind = .unreachable) {
    faults.add(Fault(.fail(kind), operation: operation, callNumber: number, callCount: .max / 2))
  }
}
