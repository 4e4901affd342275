internal import Core
internal import Daemon
internal import Dipper
internal import Glibc
internal import Support

/// `dipper get`.
struct GetCommand {
  private let invocation: Invocation

  /// The bytes that a file's name has at most on Linux's file systems.
  private static let nameLengthMax = 255

  init(_ invocation: Invocation) {
    self.invocation = invocation
  }

  func run() throws(Failure) {
    let url = try BucketURL(invocation.operands[0], for: .object)
    let isStream = invocation.operands.dropFirst().first?.bytes == Array("-".utf8)
    let target = isStream ? "" : try target(of: url)
    let key = Bucket.Key(bytes: url.key)
    let options = try options()
    let display = TransferDisplay(invocation, name: target)
    let invocation = invocation
    let runner = TransferRunner(
      invocation: invocation,
      name: "the download of \(target)",
      isResumable: !isStream && options.checkpoint != .off,
      writesOutput: isStream
    )
    try runner.run { (log, pause) async throws(DipperError) in
      let bucket = try await Bucket.open(url, invocation, options.parts, log: log)
      if isStream {
        return try await bucket.read(key, options: options) { bytes in
          bytes.withUnsafeBytes { Console.write(Array($0)) }
        }
      }
      if invocation.has(.abort) {
        return TransferRunner.tellAbort(
          try await bucket.abortDownload(key, to: target, options: options),
          of: "the download of \(target)"
        )
      }
      defer { display.end() }
      let transfer = bucket.download(key, to: target, options: options)
      _ = try await pause.follow(transfer) { display.show($0) }
    }
  }

  private func options() throws(Failure) -> DownloadOptions {
    var options = DownloadOptions()
    options.versionID = invocation.text(.versionID)
    options.conditions.ifMatch = invocation.text(.ifMatch)
    options.temporaryPath = invocation.text(.tempFile).map(ProcessEnvironment.absolute)
    options.checkpoint = try CheckpointPlace(invocation) { .besideTarget }
    options.parts = PartOptions(invocation)
    options.forcesRestart = invocation.has(.forceRestart)
    return options
  }

  /// The file to write: the operand, in it if it is a directory, or the key's last component here.
  private func target(of url: BucketURL) throws(Failure) -> String {
    let name = String(
      validating: url.key.split(separator: UInt8(ascii: "/")).last ?? [],
      as: UTF8.self
    )
    let isName =
      name.map {
        $0 != "." && $0 != ".." && !$0.utf8.contains(0) && $0.utf8.count <= Self.nameLengthMax
      } ?? false
    let isDirectoryKey = url.key.last == UInt8(ascii: "/")
    var path = ""
    if invocation.operands.count > 1 {
      do throws(UsageError) {
        path = try invocation.operands[1].path(named: "FILE")
      } catch {
        throw Failure(error.message, code: .usage)
      }
      guard path.hasSuffix("/") || isDirectory(path) else {
        return ProcessEnvironment.absolute(path)
      }
      if !path.hasSuffix("/") { path += "/" }
    }
    guard let name, isName, !isDirectoryKey else {
      throw Failure(
        "\(invocation.operands[0].bytes.printable) doesn't end in what can be a file's name; name the "
          + "FILE to write",
        code: .usage
      )
    }
    return ProcessEnvironment.absolute(path + name)
  }

  private func isDirectory(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }
}
