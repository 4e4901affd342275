package import Core
internal import Glibc

/// A file that lines are appended to, opened anew when somebody has moved it away.
package final class LogFile: Sendable {
  /// Its path.
  package let path: String
  private let file: Lock<FileDescriptor?>

  /// Opens the file, or makes it.
  package init(path: String) throws(DiskFailure) {
    self.path = path
    file = Lock(try Self.open(path))
  }

  /// Creates a log file that is made when there is something to write into it.
  package init(madeWhenNeededAt path: String) {
    self.path = path
    file = Lock(nil)
  }

  /// Opens the path anew: what was there may have been moved away, as logrotate does.
  ///
  /// - Throws: `DiskFailure`; lines then go on into the file that was open.
  package func reopen() throws(DiskFailure) {
    guard file.withLock({ $0 != nil }) else { return }
    let fresh = try Self.open(path)
    file.withLock { $0 = fresh }
  }

  /// Appends text in one write, so that lines of several threads don't mix.
  ///
  /// A log that can't be written has nobody to tell.
  func write(_ text: String) {
    guard let file = file.withLock({ $0 }) ?? openNow() else { return }
    var text = text
    text.withUTF8 { _ = Glibc.write(file.number, $0.baseAddress, $0.count) }
  }

  private func openNow() -> FileDescriptor? {
    guard let fresh = try? Self.open(path) else { return nil }
    return file.withLock { file in
      // Another thread may have been faster; then its descriptor is as good.
      let chosen = file ?? fresh
      file = chosen
      return chosen
    }
  }

  private static func open(_ path: String) throws(DiskFailure) -> FileDescriptor {
    try FileDescriptor.open(path, [.readWrite, .create, .append])
  }
}
