import Core
import Crypto
import Simulation
import Support
import Testing
import Transfer

/// What is looked at before gathered bytes get the target's name, and what happens to it.
@Suite struct PublishingTests {
  private let mebibyte = 1 << 20

  /// Downloads, and lets `body` at the temporary file when all bytes have arrived.
  private func outcome(
    _ bench: Workbench,
    _ request: FileDownloadRequest? = nil,
    whenFilled body: @escaping @Sendable (String) throws -> Void
  ) async -> TransferError? {
    let path = bench.directory.file("target.dipper-part")
    let isDone = Lock(false)
    let size = bench.version.size
    let download = bench.download(request ?? bench.request()) { event in
      guard event == .progressed(byteCount: size, size: size) else { return }
      let isFirst = isDone.withLock { isDone in
        defer { isDone = true }
        return !isDone
      }
      do {
        if isFirst { try body(path) }
      } catch {
        Issue.record(error)
      }
    }
    return await TransferTests.outcome(of: download)
  }

  @Test func anObjectThatIsNotWhatTheStoreSaysIsNotPublished() async throws {
    let bench = try Workbench(size: 3 * mebibyte + 5)
    let crc = CRC64.checksum(of: bench.content.allBytes)
    bench.store.place(bench.version.key, bench.content, crc64: crc ^ 1)
    try bench.directory.write([1, 2, 3], to: "target")
    #expect(
      await TransferTests.outcome(of: bench.download(bench.request()))
        == .wrongChecksum(expected: crc ^ 1, actual: crc)
    )
    #expect(try bench.directory.bytes(of: "target") == [1, 2, 3])
    #expect(try bench.leftovers() == [], "nobody knows which of its bytes are wrong")
    bench.store.place(bench.version.key, bench.content, crc64: crc)
    #expect(await TransferTests.outcome(of: bench.download(bench.request())) == nil)
    #expect(try bench.directory.bytes(of: "target") == bench.content.allBytes)
  }

  @Test func aTemporaryFileThatWasReplacedIsNotPublished() async throws {
    let bench = try Workbench(size: mebibyte)
    let error = await outcome(bench) { path in
      try Disk.rename(path, to: path + ".away")
      let other = try FileDescriptor.open(path, [.readWrite, .create])
      try other.truncate(to: 1 << 20)
    }
    guard case .invalid(let sentence) = error else {
      Issue.record("the other file was published: \(String(describing: error))")
      return
    }
    #expect(sentence.contains("target.dipper-part was replaced"))
    #expect(try bench.directory.bytes(of: "target") == nil)
  }

  @Test func whatWasAppendedToTheTemporaryFileIsCutOff() async throws {
    let bench = try Workbench(size: mebibyte)
    let error = await outcome(bench) { path in
      try FileDescriptor.open(path, .readWrite).truncate(to: (1 << 20) + 100)
    }
    #expect(error == nil)
    #expect(try bench.directory.bytes(of: "target") == bench.content.allBytes)
  }

  @Test func withoutACheckpointDamageLeavesNothing() async throws {
    let bench = try Workbench(size: mebibyte)
    var request = bench.request()
    request.keepsCheckpoint = false
    let error = await outcome(bench, request) { path in
      try FileDescriptor.open(path, .readWrite).truncate(to: 1000)
    }
    guard case .invalid = error else {
      Issue.record("the damage was not noticed: \(String(describing: error))")
      return
    }
    #expect(try bench.leftovers() == [])
    #expect(try bench.directory.bytes(of: "target") == nil)
  }

  @Test func theTargetKeepsItsPermissions() async throws {
    let bench = try Workbench(size: 1000)
    try bench.directory.write([9], to: "target")
    let target = bench.directory.file("target")
    try Disk.setPermissions(of: target, 0o640)
    #expect(await TransferTests.outcome(of: bench.download(bench.request())) == nil)
    #expect(try Disk.status(of: target)?.permissions == 0o640)
    #expect(try bench.directory.bytes(of: "target") == bench.content.allBytes)
  }

  @Test func oneCheckpointIsNotUsedByTwoDownloads() async throws {
    let bench = try Workbench(size: 1000)
    let checkpoint = bench.directory.file("saved")
    let lock = try LockFile.acquire(checkpoint + ".lock", holder: "a download to elsewhere")
    var request = bench.request()
    request.checkpoint = checkpoint
    #expect(
      await TransferTests.outcome(of: bench.download(request))
        == .held(path: checkpoint, by: "pid \(Disk.processID): a download to elsewhere")
    )
    #expect(bench.store.calls.isEmpty)
    try lock.removeFile()
  }
}
