import Core
import Glibc
import Support

/// A directory of a test's own, removed with what is in it when its owner goes.
final class ScratchDirectory: Sendable {
  let path: String

  init() throws {
    var template = Array("\(Self.temporaryPath)/dipper-local.XXXXXX".utf8CString)
    let made = template.withUnsafeMutableBufferPointer { buffer in
      buffer.baseAddress.map { mkdtemp($0) != nil } ?? false
    }
    guard made else {
      throw DiskFailure(errno: errno, action: "make a directory", reason: errnoDescription(errno))
    }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit {
    Self.remove(path.utf8CString.dropLast())
  }

  private static var temporaryPath: String {
    getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
  }

  /// Makes a file with these bytes, open for reading and writing.
  @discardableResult
  func makeFile(_ name: String, _ bytes: [UInt8] = []) throws -> FileDescriptor {
    let flags: FileDescriptor.Flags = [.readWrite, .create, .truncate]
    let file = try FileDescriptor.open("\(path)/\(name)", flags)
    try bytes.withUnsafeBytes { try file.write($0, at: 0) }
    return file
  }

  func makeDirectory(_ name: String) throws {
    try retrying("make \(name)") { mkdir("\(path)/\(name)", 0o755) }
  }

  func makeLink(_ name: String, to target: String) throws {
    try retrying("link \(name)") { symlink(target, "\(path)/\(name)") }
  }

  func exists(_ name: String) -> Bool {
    var status = stat()
    return lstat("\(path)/\(name)", &status) == 0
  }

  func bytes(_ name: String) throws -> [UInt8] {
    let file = try FileDescriptor.open("\(path)/\(name)", .read)
    var bytes = [UInt8](repeating: 0, count: try file.size())
    let count = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
    return Array(bytes.prefix(count))
  }

  /// The names in a directory, sorted.
  func names(_ name: String = ".") -> [String] {
    Self.names("\(path)/\(name)".utf8CString.dropLast())
      .map { String(decoding: $0.map { UInt8(bitPattern: $0) }, as: UTF8.self) }
      .sorted()
  }

  // In bytes, because tests make names that are not UTF-8.

  private static func names(_ path: some Collection<CChar>) -> [[CChar]] {
    guard let stream = opendir(Array(path) + [0]) else { return [] }
    defer { closedir(stream) }
    var names: [[CChar]] = []
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { tuple in
        tuple.prefix { $0 != 0 }.map { CChar(bitPattern: $0) }
      }
      if name != [46] && name != [46, 46] { names.append(name) }
    }
    return names
  }

  private static func remove(_ path: some Collection<CChar>) {
    let cPath = Array(path) + [0]
    var status = stat()
    guard lstat(cPath, &status) == 0 else { return }
    if status.st_mode & S_IFMT == S_IFDIR {
      for name in names(path) { remove(Array(path) + [47] + name) }
      rmdir(cPath)
    } else {
      unlink(cPath)
    }
  }
}

/// Waits for what other threads and the kernel do.
enum Pause {
  /// Between two looks at something.
  static func short() { usleep(500) }

  /// Until the clock that stamps files has moved on.
  static func untilNextTick() {
    let start = coarseTime
    while coarseTime == start { short() }
  }

  private static var coarseTime: Int {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME_COARSE, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
  }
}
