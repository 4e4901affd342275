import Core
import Crypto
import Dipper
import Simulation
import Support
import Testing

/// Two buckets of one simulated store as programs see them, and a directory.
struct LibraryBench {
  /// The least that a part may have.
  static let partSize = 5 << 20
  static let key = Bucket.Key("big")
  static let targetKey = Bucket.Key("copy")

  let directory: TestDirectory
  let faults = FaultPlan()
  /// The store of `bucket`.
  let store: SimulatedStore
  /// The store of `other`.
  let otherStore: SimulatedStore
  let bucket: Bucket
  /// Another bucket of the same store.
  let other: Bucket
  let content: SimulatedContent

  /// Creates a bench whose object `key`, in `bucket`, has `size` bytes.
  init(size: Int = 2 * LibraryBench.partSize + 17, isVirtual: Bool = false) throws {
    directory = try TestDirectory()
    store = SimulatedStore(name: "s3://one", time: SystemClock(), faults: faults)
    otherStore = SimulatedStore(name: "s3://two", time: SystemClock(), faults: faults)
    otherStore.adjoin(store, as: "one")
    bucket = try Self.bucket("s3://one", store)
    other = try Self.bucket("s3://two", otherStore)
    content = isVirtual ? .words(size: size, seed: 9) : .bytes(Self.bytes(size))
    store.place(Self.key.objectKey, content)
  }

  private static func bucket(_ url: String, _ store: SimulatedStore) throws -> Bucket {
    Bucket(
      try BucketURL(url, for: .bucket),
      store: store,
      location: "\(url) at a simulation",
      log: Log(level: .error)
    )
  }

  /// Bytes that cost little, each MiB unlike the others.
  private static func bytes(_ size: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(size)
    var number: UInt8 = 0
    while bytes.count < size {
      number &+= 41
      // An array of its own, because appending another array is a copy of memory and nothing else is.
      bytes += [UInt8](repeating: number, count: min(1 << 20, size - bytes.count))
    }
    return bytes
  }

  /// The place of a checkpoint in the directory.
  var checkpoint: CheckpointPlace { .at(path: directory.file("checkpoint")) }

  /// Options for a download in parts of 5 MiB, one after the other, with a checkpoint.
  var downloadOptions: DownloadOptions {
    var options = DownloadOptions()
    options.parts = PartOptions(size: Self.partSize, parallel: 1)
    options.checkpoint = checkpoint
    return options
  }

  /// Options for a copy in parts of 5 MiB, one after the other, with a checkpoint.
  var copyOptions: CopyOptions {
    var options = CopyOptions()
    options.parts = PartOptions(size: Self.partSize, parallel: 1)
    options.checkpoint = checkpoint
    options.wholeSizeMax = 0
    return options
  }

  /// Options for an upload in parts of 5 MiB, one after the other, with a checkpoint.
  var uploadOptions: UploadOptions {
    var options = UploadOptions()
    options.parts = PartOptions(size: Self.partSize, parallel: 1)
    options.checkpoint = checkpoint
    return options
  }

  /// The path of the target of downloads.
  var target: String { directory.file("target") }

  /// Writes the object's bytes into a file, and returns its path.
  func file() throws -> String {
    try directory.write(content.allBytes, to: "file")
    return directory.file("file")
  }

  /// True if the file of this name has the object's bytes.
  func isWhole(_ name: String) throws -> Bool {
    guard let bytes = try directory.bytes(of: name) else { return false }
    return bytes.count == content.size && CRC64.checksum(of: bytes) == content.crc64
  }

  /// True if the object at `key` of `store` has the object's bytes.
  func isWhole(_ key: Bucket.Key, in store: SimulatedStore) -> Bool {
    guard let found = store.content(at: key.objectKey) else { return false }
    return found.size == content.size && found.crc64 == content.crc64
  }

  /// Names in the directory.
  var names: [String] { directory.names() }

  /// Lets the calls of an operation from the `number`th on hang until they are cancelled.
  func hang(_ operation: StoreOperation, from number: Int) {
    faults.add(Fault(.hang(), operation: operation, callNumber: number, callCount: .max / 2))
  }

  /// Fails the calls of an operation from the `number`th on.
  func fail(_ operation: StoreOperation, from number: Int, _ kind: StoreError.Kind = .unreachable) {
    faults.add(Fault(.fail(kind), operation: operation, callNumber: number, callCount: .max / 2))
  }
}

/// What a transfer ended with; nil if it succeeded.
func failure<Event, Success>(of task: TransferTask<Event, Success>) async -> DipperError? {
  do throws(DipperError) {
    _ = try await task.value
    return nil
  } catch {
    return error
  }
}

/// Reads events until one of them is as wanted; false if none is.
func reached<Event, Success>(
  _ task: TransferTask<Event, Success>,
  _ isWanted: (Event) -> Bool
) async -> Bool {
  for await event in task.events where isWanted(event) { return true }
  return false
}

/// Waits until `condition` holds.
///
/// - Returns: false if it does not within a minute.
func eventually(_ condition: () -> Bool) async -> Bool {
  let clock = SystemClock()
  let deadline = clock.now + .seconds(60)
  while !condition() {
    guard clock.now < deadline else { return false }
    try? await Task.sleep(for: .milliseconds(2))
  }
  return true
}
