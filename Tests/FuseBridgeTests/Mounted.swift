import Core
import Glibc
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
  func waitForEnd(within limit: Duration = .seconds(10)) -> Outcome {
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
  let directory = try temporaryDirectory()
  defer { rmdir(directory) }
  let session = FuseSession(
    operations: files,
    mountpoint: directory,
    options: options,
    way: way,
    whenReady: {}
  )
  try session.mount()
  let mounted = Mounted(files: files, session: session, mountpoint: directory)
  let outcome = mounted.outcome
  Thread.start("dipper-test") {
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
    #expect(MountTable.current().top(at: directory) == nil, "the mount is still there")
  }
  try body(mounted)
}

/// A new directory; who makes it removes it.
func temporaryDirectory() throws -> String {
  var template = Array("/tmp/dipper-fuse-XXXXXX".utf8CString)
  try #require(mkdtemp(&template) != nil)
  return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

/// Asks until `condition` holds; false if it doesn't within `limit`.
func eventually(within limit: Duration = .seconds(10), _ condition: () -> Bool) -> Bool {
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

/// A file on disk with these bytes, already unlinked.
func unlinkedFile(_ bytes: [UInt8]) throws -> FileDescriptor {
  let directory = try temporaryDirectory()
  defer { rmdir(directory) }
  let file = try FileDescriptor.open("\(directory)/data", [.readWrite, .create])
  unlink("\(directory)/data")
  try bytes.withUnsafeBytes { try file.write($0, at: 0) }
  return file
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

/// A running program.
struct Child {
  let process: pid_t

  /// Starts a program without input or output.
  init(_ arguments: String...) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0)
    posix_spawn_file_actions_adddup2(&actions, 0, 1)
    posix_spawn_file_actions_adddup2(&actions, 0, 2)
    // Whoever runs the tests may ignore signals, and the threads that they run on block them. Both
    // would be inherited.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGINT)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
    var pointers: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
    defer { for pointer in pointers { free(pointer) } }
    var process = pid_t()
    try #require(
      posix_spawnp(&process, arguments[0], &actions, &attributes, &pointers, environ) == 0
    )
    self.process = process
  }

  /// The wait status, or nil if it hasn't ended in time.
  func end(within limit: Duration) -> Int32? {
    var status: Int32 = 0
    let hasEnded = eventually(within: limit) { waitpid(process, &status, WNOHANG) == process }
    return hasEnded ? status : nil
  }
}
