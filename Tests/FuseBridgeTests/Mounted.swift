import Core
import Glibc
import Simulation
import Support
import Testing

@testable import FuseBridge

/// A mount of `MemoryFiles` in a temporary directory, served on a thread of its own.
struct Mounted {
  let files: MemoryFiles
  let session: FuseSession
  let mountpoint: String
  fileprivate let outcome = Monitor<Outcome>(.pending)

  enum Outcome: Equatable {
    case pending
    case ended
    case failed(MountError)
  }

  /// The path of a name in the mount.
  func path(_ name: String) -> String { "\(mountpoint)/\(name)" }

  /// Waits for the end of `run`; `pending` if it hasn't come in time.
  func waitForEnd(within limit: Duration = .seconds(60)) -> Outcome {
    let deadline = SystemClock().now + limit
    return outcome.wait { outcome, wakeUp in
      guard outcome == .pending, SystemClock().now < deadline else { return outcome }
      wakeUp = deadline.nanoseconds
      return nil
    }
  }
}

private let watchdog = Timers()

/// Mounts `files`, runs `body`, and leaves nothing behind, whatever `body` did.
func withMount(
  _ files: MemoryFiles = MemoryFiles(),
  options: MountOptions = MountOptions(fsName: "s3://bucket"),
  way: Mounter.Way? = nil,
  _ body: (Mounted) throws -> Void
) throws {
  let directory = try TestDirectory()
  let session = FuseSession(
    operations: files,
    mountpoint: directory.path,
    options: options,
    way: way,
    whenReady: {}
  )
  try session.mount()
  let mounted = Mounted(files: files, session: session, mountpoint: directory.path)
  let outcome = mounted.outcome
  try Thread.require("dipper-test") {
    do throws(MountError) {
      try session.run()
      outcome.withLock(wakingAll: true) { $0 = .ended }
    } catch {
      outcome.withLock(wakingAll: true) { $0 = .failed(error) }
    }
  }
  // A test that hangs in its own mount is freed by the end of the mount.
  let alarm = watchdog.schedule(at: SystemClock().now + .seconds(60)) { session.exit() }
  defer {
    watchdog.cancel(alarm)
    try? session.unmount(lazily: true)
    session.exit()
    #expect(mounted.waitForEnd() != .pending, "the session did not end")
    #expect(MountTable.current().top(at: directory.path) == nil, "the mount is still there")
  }
  try body(mounted)
}

/// Asks until `condition` holds; false if it doesn't within `limit`.
func eventually(within limit: Duration = .seconds(60), _ condition: () -> Bool) -> Bool {
  let deadline = SystemClock().now + limit
  while !condition() {
    guard SystemClock().now < deadline else { return false }
    usleep(2000)
  }
  return true
}

/// The errno of a call that answers -1, or 0.
func errnoOf(_ call: () -> Int32) -> Int32 {
  call() == -1 ? errno : 0
}

/// The names in a directory in the order they come, `.` and `..` included.
func names(in path: String) throws -> [String] {
  let directory = try #require(opendir(path))
  defer { closedir(directory) }
  var names: [String] = []
  while let entry = readdir(directory) {
    names.append(
      withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
    )
  }
  return names
}

/// Bytes that repeat nowhere near.
func noise(_ count: Int, seed: UInt64 = 42) -> [UInt8] {
  var state = seed
  return (0..<count).map { _ in
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return UInt8(truncatingIfNeeded: state >> 33)
  }
}

/// Reads all of a file by reads of `size` bytes.
func read(_ path: String, by size: Int) throws -> [UInt8] {
  let file = try FileDescriptor.open(path, .read)
  var bytes: [UInt8] = []
  var buffer = [UInt8](repeating: 0, count: size)
  while true {
    let count = Glibc.read(file.number, &buffer, size)
    try #require(count >= 0, "read failed with errno \(errno)")
    if count == 0 { return bytes }
    bytes.append(contentsOf: buffer.prefix(count))
  }
}

/// Starts a program whose output nobody looks at.
func start(_ program: String, _ arguments: String...) throws -> ChildProcess {
  try ChildProcess(program, arguments, errorOutput: .merged)
}

extension ChildProcess {
  /// How it ended, or nil if it hasn't in time.
  func end(within limit: Duration = .seconds(60)) -> Exit? {
    eventually(within: limit) { exit != nil } ? exit : nil
  }
}
