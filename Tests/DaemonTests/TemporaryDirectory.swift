import Glibc
import Support

/// A directory of its own for a test, gone with the last reference.
final class TemporaryDirectory: Sendable {
  let path: String

  init() throws {
    var template = Array("/tmp/dipper-test-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Failure() }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  struct Failure: Error {}

  deinit {
    let arguments = ["rm", "-rf", "--", path].map { Array($0.utf8) }
    _ = try? Subprocess.start("rm", arguments: arguments, descriptors: []).wait()
  }
}
