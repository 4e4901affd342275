package import Core
package import Support

extension Log {
  /// Creates the log that a command line asks for.
  ///
  /// - Parameters:
  ///   - invocation: the command line.
  ///   - target: where lines go unless `--log-file` says otherwise.
  /// - Throws: `DiskFailure` if the file can't be opened.
  package convenience init(
    _ invocation: Invocation,
    otherwise target: Target
  ) throws(DiskFailure) {
    var target = target
    if let path = invocation.text(.logFile) {
      target = .file(try LogFile(path: ProcessEnvironment.absolute(path)))
    }
    let level = Level.allCases.first { "\($0)" == invocation.text(.logLevel) }
    self.init(
      level: level ?? .warning,
      target: target,
      format: invocation.text(.logFormat).flatMap { Format(rawValue: $0) } ?? .text
    )
  }
}
