internal import Core
internal import Daemon
internal import Dipper
internal import Support

/// `dipper cp`.
struct CopyCommand {
  private let invocation: Invocation

  init(_ invocation: Invocation) {
    self.invocation = invocation
  }

  func run() throws(Failure) {
    let (first, second) = (invocation.operands[0].isPath, invocation.operands[1].isPath)
    guard first == second else {
      throw Failure(
        "'cp' takes two URLs, or two paths of one mount, and not one of each; 'put' and 'get' take a file and "
          + "a URL",
        code: .usage
      )
    }
    guard !first else { return try PathCopyCommand(invocation).run() }
    let sourceURL = try BucketURL(invocation.operands[0], for: .object)
    let targetURL = try BucketURL(invocation.operands[1], for: .prefix)
    guard sourceURL.scheme == targetURL.scheme else {
      throw Failure(
        "\(sourceURL.bucketName) and \(targetURL.bucketName) are different kinds of store, and 'cp' copies "
          + "inside one; use 'get' and 'put'",
        code: .usage
      )
    }
    if sourceURL.scheme == .file, sourceURL.bucket != targetURL.bucket {
      throw Failure(
        "\(sourceURL.bucketName) and \(targetURL.bucketName) are different stores, and 'cp' copies inside "
          + "one; a double slash shows where the directory ends, as in file:///srv//a/b",
        code: .usage
      )
    }
    try targetURL.check(invocation)
    let slash = UInt8(ascii: "/")
    let source = Bucket.Key(bytes: sourceURL.key)
    let target = try targetURL.targetKey(
      named: sourceURL.key.last == slash
        ? nil : sourceURL.key.split(separator: slash).last.map(Array.init)
    )
    let options = try options()
    let display = TransferDisplay(invocation, name: "\(target)")
    let invocation = invocation
    let runner = TransferRunner(
      invocation: invocation,
      name: "the copy of \(source)",
      isResumable: options.checkpoint != .off
    )
    try runner.run { (log, pause) async throws(DipperError) in
      let bucket = try await Bucket.open(targetURL, invocation, options.parts, log: log)
      let isOneBucket = sourceURL.bucketName == targetURL.bucketName
      let other =
        isOneBucket ? nil : try await Bucket.open(sourceURL, invocation, options.parts, log: log)
      if invocation.has(.abort) {
        return TransferRunner.tellAbort(
          try await bucket.abortCopy(source, from: other, to: target, options: options),
          of: "the copy of \(source)"
        )
      }
      defer { display.end() }
      let transfer = bucket.copy(source, from: other, to: target, options: options)
      _ = try await pause.follow(transfer) { display.show($0) }
    }
  }

  private func options() throws(Failure) -> CopyOptions {
    var options = CopyOptions()
    options.versionID = invocation.text(.versionID)
    options.conditions.ifMatch = invocation.text(.ifMatch)
    if invocation.text(.metadataDirective) == "replace" {
      options.metadata = .replace(ObjectFacts(named: invocation.pairs(.metadata)))
    }
    options.storageClass = invocation.text(.storageClass)
    if invocation.has(.tag) { options.tags = invocation.pairs(.tag) }
    options.parts = PartOptions(invocation)
    options.rateMax = invocation.number(.limitRate)
    options.forcesRestart = invocation.has(.forceRestart)
    options.checkpoint = try CheckpointPlace(invocation) { () throws(Failure) in
      try .stateDirectory()
    }
    // Whoever says how parts are to be copied wants parts, although one request would do.
    let aboutParts: [OptionName] = [.partSize, .parallel, .checkpoint, .limitRate]
    if aboutParts.contains(where: { invocation.has($0) }) { options.wholeSizeMax = 0 }
    return options
  }
}

extension Invocation.Operand {
  /// It can only be a path of this machine.
  fileprivate var isPath: Bool { !String(decoding: bytes, as: UTF8.self).contains("://") }
}
