internal import Core
internal import Glibc
internal import Support

/// A directory of a test's own below the system's temporary one, removed when the test lets go of it.
package final class TestDirectory: Sendable {
  /// Its path.
  package let path: String

  /// Makes it.
  package init() throws {
    let number = UInt64.random(in: .min ... .max)
    path = "/tmp/dipper-test-\(getpid())-\(String(number, radix: 16))"
    try Disk.createDirectory(path)
  }

  /// Returns the path of a name in it.
  package func file(_ name: String) -> String { path + "/" + name }

  /// Returns a file's bytes; nil if there is none.
  package func bytes(of name: String) throws -> [UInt8]? {
    guard let status = try Disk.status(of: file(name)) else { return nil }
    let descriptor = try FileDescriptor.open(file(name), [.read])
    var bytes = [UInt8](repeating: 0, count: status.size)
    let count = try bytes.withUnsafeMutableBytes { try descriptor.read(into: $0, at: 0) }
    return Array(bytes[..<count])
  }

  /// Makes a file of these bytes, in place of what was there.
  package func write(_ bytes: [UInt8], to name: String) throws {
    let descriptor = try FileDescriptor.open(file(name), [.readWrite, .create, .truncate])
    try bytes.withUnsafeBytes { try descriptor.write($0, at: 0) }
  }

  deinit {
    try? Disk.removeTree(path)
  }
}
