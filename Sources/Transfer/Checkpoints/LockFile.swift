package import Core
internal import Support

/// A file whose lock says that one process alone works here, and whose content says which.
///
/// The lock is the kernel's (flock), so that it ends with the process however that ends; what the
/// file says afterwards means nothing.
package final class LockFile: Sendable {
  /// Why there is no lock.
  package enum LockError: Error, Hashable, Sendable {
    /// Another process has it; the text is what that process wrote: its pid and what it does.
    case held(by: String)
    /// What has the file's name is not a file of this user's alone; it was left as it is.
    case notPlain(path: String, reason: String)
    /// The file can't be made or locked.
    case disk(DiskFailure)
  }

  /// Its path.
  package let path: String
  private let file: FileDescriptor

  private init(path: String, file: FileDescriptor) {
    self.path = path
    self.file = file
  }

  /// Takes the lock and writes `holder` behind the pid for whoever comes second.
  package static func acquire(_ path: String, holder: String) throws(LockError) -> LockFile {
    do {
      while true {
        let file = try PartFile.openOwn(path, [.readWrite, .create])
        guard try file.tryLock() else { throw LockError.held(by: try text(of: file)) }
        let lock = LockFile(path: path, file: file)
        // Between our open and our lock its last holder may have removed it.
        guard try lock.isInPlace() else { continue }
        do throws(DiskFailure) {
          try lock.sign(holder)
        } catch {
          try? lock.removeFile()
          throw error
        }
        return lock
      }
    } catch let error as LockError {
      throw error
    } catch let failure as DiskFailure {
      throw .disk(failure)
    } catch PartFile.OpenError.disk(let failure) {
      throw .disk(failure)
    } catch PartFile.OpenError.notPlain(let path, let reason) {
      throw .notPlain(path: path, reason: reason)
    } catch {
      throw .held(by: "\(error)")
    }
  }

  /// Writes who has the lock.
  private func sign(_ holder: String) throws(DiskFailure) {
    try file.truncate(to: 0)
    let bytes = Array("pid \(Disk.processID): \(holder)\n".utf8)
    try bytes.span.bytes.withUnsafeBytes { (buffer) throws(DiskFailure) in
      try file.write(buffer, at: 0)
    }
  }

  /// Returns true if the name still leads to the locked file.
  package func isInPlace() throws(DiskFailure) -> Bool {
    try Disk.status(of: path)?.identity == file.status().identity
  }

  /// Removes the file; the lock lasts until the object goes.
  package func removeFile() throws(DiskFailure) {
    if try isInPlace() { try Disk.removeFile(path) }
  }

  /// What the holder wrote, or that it hasn't yet.
  private static func text(of file: FileDescriptor) throws(DiskFailure) -> String {
    let sizeMax = 4096
    let bytes = try file.bytes(ByteRange(0, min(sizeMax, file.size())))
    let text = bytes.filter { $0 != UInt8(ascii: "\n") }.printable
    return text.isEmpty ? "another process" : text
  }
}
