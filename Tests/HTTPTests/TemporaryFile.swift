import Core
import Glibc
import Support

/// A file in the system's directory for temporary files that goes when it is closed.
enum TemporaryFile {
  static func open() throws -> FileDescriptor {
    let directory = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    let path = "\(directory)/http-tests-\(getpid())-\(UInt64.random(in: 0 ... .max))"
    let file = try FileDescriptor.open(path, [.readWrite, .create, .exclusive])
    unlink(path)
    return file
  }
}
