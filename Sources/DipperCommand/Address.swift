internal import Daemon
internal import Dipper
internal import Glibc

extension BucketURL {
  /// Reads an operand; a local path is looked at on this machine.
  init(_ operand: Invocation.Operand, for purpose: Purpose) throws(Failure) {
    do throws(InvalidBucketURL) {
      try self.init(operand.bytes, for: purpose) { path in
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
      }
    } catch {
      // A local directory that isn't there is no misspelled command line.
      throw Failure(error.description, code: error.isAboutTheDisk ? .failed : .usage)
    }
  }
}
