import Core
import Glibc
import Simulation
import Support
import Testing
import Transfer

/// What a download refuses once it has begun to take its locks, and what a refusal leaves behind.
@Suite struct FileDownloadRefusalTests {
  /// A state of the disk, or a request, that is refused.
  enum Refusal: CaseIterable {
    case partSize
    case targetIsDirectory
    case targetIsLink
    case targetIsPipe
    case onePathForTwo
    case noTargetDirectory
    case noTemporaryDirectory
    case noCheckpointDirectory
    case targetIsHeld
    case checkpointIsHeld
    case targetLockIsLink
    case checkpointLockIsDirectory
    case checkpointIsForeign
    case checkpointIsLink
    case checkpointHasAnotherName
    case checkpointIsOfAnotherTask
    case checkpointIsOfAnotherFormat
    case nextCheckpointIsDirectory
    case temporaryIsForeign
    case temporaryIsDirectory
  }

  enum Manner: CaseIterable {
    case run
    case restart
    case abort
  }

  @Test(arguments: Refusal.allCases, Manner.allCases)
  func aRefusalLeavesTheDiskAsItWas(refusal: Refusal, manner: Manner) async throws {
    // What an earlier task was, restarting forgets and aborting removes.
    if refusal.isAboutAnEarlierTask, manner != .run { return }
    let bench = try Workbench(size: 1000)
    var request = bench.request()
    let held = try refusal.provoke(in: bench.directory, &request)
    request.forcesRestart = manner == .restart
    let before = try contents(of: bench.directory)
    let download = bench.download(request)
    var wasRefused = false
    do throws(TransferError) {
      if manner == .abort { try await download.abort() } else { _ = try await download.run() }
    } catch {
      wasRefused = true
    }
    #expect(wasRefused)
    #expect(try contents(of: bench.directory) == before)
    #expect(bench.store.calls.isEmpty != refusal.needsVersion)
    withExtendedLifetime(held) {}
  }

  @Test func locksThatAProcessLeftBehindAreNoObstacle() async throws {
    let bench = try Workbench(size: 1000)
    try bench.directory.write(Array("pid 1: gone\n".utf8), to: "target.dipper-checkpoint.lock")
    _ = try await bench.download(bench.request()).run()
    #expect(bench.directory.names() == ["target"])
  }

  /// Every name below the directory with its kind and its bytes.
  private func contents(of directory: TestDirectory) throws -> [String: [UInt8]] {
    var contents: [String: [UInt8]] = [:]
    var pending = directory.names()
    while let name = pending.popLast() {
      let status = try #require(try Disk.status(of: directory.file(name)))
      contents["\(name) \(status.kind)"] = status.kind == .file ? try directory.bytes(of: name) : []
      if status.kind == .directory { pending += directory.names(name).map { "\(name)/\($0)" } }
    }
    return contents
  }
}

extension FileDownloadRefusalTests.Refusal {
  /// True if the same request is not refused where what there is is given up.
  fileprivate var isAboutAnEarlierTask: Bool {
    self == .checkpointIsOfAnotherTask || self == .checkpointIsOfAnotherFormat
      || self == .nextCheckpointIsDirectory
  }

  /// True if it shows only when the object's version is known.
  fileprivate var needsVersion: Bool { self == .nextCheckpointIsDirectory }

  /// Makes the disk and the request such that it must be refused.
  ///
  /// - Returns: a lock that must live as long.
  fileprivate func provoke(
    in directory: TestDirectory,
    _ request: inout FileDownloadRequest
  ) throws -> LockFile? {
    let mine = Array("my own words".utf8)
    switch self {
    case .partSize: request.partSize = -1
    case .targetIsDirectory: try directory.makeDirectory("target")
    case .targetIsLink:
      try directory.write(mine, to: "mine")
      try directory.makeLink("target", to: "mine")
    case .targetIsPipe: try #require(mkfifo(directory.file("target"), 0o600) == 0)
    case .onePathForTwo: request.checkpoint = request.target
    case .noTargetDirectory: request.target = directory.file("no/target")
    case .noTemporaryDirectory: request.temporary = directory.file("no/temporary")
    case .noCheckpointDirectory: request.checkpoint = directory.file("no/checkpoint")
    case .targetIsHeld:
      return try LockFile.acquire(request.usualCheckpoint + ".lock", holder: "another")
    case .checkpointIsHeld:
      request.checkpoint = directory.file("saved")
      return try LockFile.acquire(directory.file("saved.lock"), holder: "another")
    case .targetLockIsLink:
      try directory.write(mine, to: "mine")
      try directory.makeLink("target.dipper-checkpoint.lock", to: "mine")
    case .checkpointLockIsDirectory:
      request.checkpoint = directory.file("saved")
      try directory.makeDirectory("saved.lock")
    case .checkpointIsForeign:
      request.checkpoint = directory.file("mine")
      try directory.write(mine, to: "mine")
    case .checkpointIsLink:
      request.checkpoint = directory.file("link")
      try directory.write(mine, to: "mine")
      try directory.makeLink("link", to: "mine")
    case .checkpointHasAnotherName:
      request.checkpoint = directory.file("saved")
      try directory.write(mine, to: "saved")
      try #require(link(directory.file("saved"), directory.file("other")) == 0)
    case .checkpointIsOfAnotherTask:
      request.checkpoint = directory.file("saved")
      let text = Checkpoint(
        identity: CheckpointIdentity(
          store: "another",
          version: ObjectVersion(
            key: request.key,
            etag: ETag("\"1\""),
            size: 1000,
            lastModified: Timestamp(seconds: 1)
          )
        )
      ).text
      try directory.write(Array(text.utf8), to: "saved")
    case .checkpointIsOfAnotherFormat:
      request.checkpoint = directory.file("saved")
      try directory.write(Array("dipper checkpoint 99\n".utf8), to: "saved")
    case .nextCheckpointIsDirectory:
      try directory.makeDirectory("target.dipper-checkpoint.new")
    case .temporaryIsForeign:
      request.temporary = directory.file("mine")
      try directory.write(mine, to: "mine")
    case .temporaryIsDirectory:
      request.temporary = directory.file("there")
      try directory.makeDirectory("there")
      try directory.write(mine, to: "there/mine")
    }
    return nil
  }
}
