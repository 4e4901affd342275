internal import Core
internal import Daemon
internal import Dipper
internal import Glibc
internal import Support

/// `dipper put`.
struct PutCommand {
  private let invocation: Invocation

  init(_ invocation: Invocation) {
    self.invocation = invocation
  }

  func run() throws(Failure) {
    let source = invocation.operands[0]
    let isStream = source.bytes == Array("-".utf8)
    let path = isStream ? "" : ProcessEnvironment.absolute(try file(source))
    let url = try BucketURL(invocation.operands[1], for: .prefix)
    try url.check(invocation)
    let slash = UInt8(ascii: "/")
    let key = try url.targetKey(
      named: isStream ? nil : Array(path.utf8).split(separator: slash).last.map(Array.init)
    )
    let options = try options(isStream: isStream)
    let display = TransferDisplay(invocation, name: isStream ? "\(key)" : path)
    let invocation = invocation
    let runner = TransferRunner(
      invocation: invocation,
      name: "the upload of \(path.utf8.printable)",
      isResumable: options.checkpoint != .off
    )
    try runner.run { (log, pause) async throws(DipperError) in
      let bucket = try await Bucket.open(url, invocation, options.parts, log: log)
      if invocation.has(.abort) {
        return TransferRunner.tellAbort(
          try await bucket.abortUpload(path, to: key, options: options),
          of: "the upload of \(path.utf8.printable)"
        )
      }
      defer { display.end() }
      let transfer =
        isStream
        ? bucket.upload(streamFrom: STDIN_FILENO, to: key, options: options)
        : bucket.upload(path, to: key, options: options)
      _ = try await pause.follow(transfer) { display.show($0) }
    }
  }

  private func file(_ operand: Invocation.Operand) throws(Failure) -> String {
    do throws(UsageError) {
      return try operand.path(named: "FILE")
    } catch {
      throw Failure(error.message, code: .usage)
    }
  }

  private func options(isStream: Bool) throws(Failure) -> UploadOptions {
    var options = UploadOptions()
    options.facts = ObjectFacts(named: invocation.pairs(.metadata))
    options.facts.tags = invocation.pairs(.tag)
    options.storageClass = invocation.text(.storageClass)
    if let etag = invocation.text(.ifMatch) { options.condition = .ifMatch(etag) }
    options.parts = PartOptions(invocation)
    options.forcesRestart = invocation.has(.forceRestart)
    if !isStream {
      options.checkpoint = try CheckpointPlace(invocation) { () throws(Failure) in
        try .stateDirectory()
      }
    }
    return options
  }
}
