package import Core
internal import Glibc
package import Support

/// A directory of a test's own below the system's temporary one, removed when the test lets go of it.
package final class TestDirectory: Sendable {
  /// Its path.
  package let path: String

  /// Makes it.
  package init() throws(DiskFailure) {
    let number = UInt64.random(in: .min ... .max)
    path = "\(Self.temporaryPath)/dipper-test-\(getpid())-\(String(number, radix: 16))"
    try Disk.createDirectory(path)
  }

  /// The system's directory for temporary files.
  static var temporaryPath: String {
    getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
  }

  /// Returns the path of a name in it.
  package func file(_ name: String) -> String { path + "/" + name }

  /// Returns a file's bytes; nil if there is none.
  package func bytes(of name: String) throws(DiskFailure) -> [UInt8]? {
    guard let status = try Disk.status(of: file(name)) else { return nil }
    return try FileDescriptor.open(file(name), [.read]).bytes(ByteRange(0, status.size))
  }

  /// Makes a file of these bytes, in place of what was there, open for reading and writing.
  @discardableResult
  package func write(_ bytes: [UInt8] = [], to name: String) throws(DiskFailure) -> FileDescriptor {
    let descriptor = try FileDescriptor.open(file(name), [.readWrite, .create, .truncate])
    try bytes.span.bytes.withUnsafeBytes { (buffer) throws(DiskFailure) in
      try descriptor.write(buffer, at: 0)
    }
    return descriptor
  }

  /// Makes a directory in it that others may enter.
  package func makeDirectory(_ name: String) throws(DiskFailure) {
    try Disk.createDirectory(file(name), permissions: 0o755)
  }

  /// Makes a symbolic link in it.
  package func makeLink(_ name: String, to target: String) throws(DiskFailure) {
    try retrying("link \(name)") { symlink(target, file(name)) }
  }

  /// Makes a named pipe in it.
  package func makePipe(_ name: String) throws(DiskFailure) {
    try retrying("make pipe \(name)") { mkfifo(file(name), 0o600) }
  }

  /// Returns true if there is something of this name, were it a link that leads nowhere.
  package func exists(_ name: String) -> Bool {
    var status = stat()
    return lstat(file(name), &status) == 0
  }

  /// Returns the names in a directory, sorted.
  package func names(_ name: String = ".") -> [String] {
    Self.names(in: Array(file(name).utf8CString))
      .map { String(decoding: $0.map { UInt8(bitPattern: $0) }, as: UTF8.self) }
      .sorted()
  }

  deinit {
    Self.remove(Array(path.utf8CString))
  }

  // In bytes, because tests make names that are not UTF-8.

  private static func names(in path: [CChar]) -> [[CChar]] {
    guard let stream = opendir(path) else { return [] }
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

  private static func remove(_ path: [CChar]) {
    if unlink(path) == 0 { return }
    for name in names(in: path) { remove(path.dropLast() + [47] + name + [0]) }
    rmdir(path)
  }
}
