package import Core
internal import Glibc
package import Support

/// A file that goes when it is closed, because it has no name any more.
package enum UnnamedFile {
  /// Makes one of these bytes, open for reading and writing.
  package static func make(_ bytes: [UInt8] = []) throws(DiskFailure) -> FileDescriptor {
    let number = UInt64.random(in: .min ... .max)
    let path = "\(TestDirectory.temporaryPath)/dipper-test-\(String(number, radix: 16))"
    let file = try FileDescriptor.open(path, [.readWrite, .create, .exclusive])
    unlink(path)
    try bytes.span.bytes.withUnsafeBytes { (buffer) throws(DiskFailure) in
      try file.write(buffer, at: 0)
    }
    return file
  }
}
