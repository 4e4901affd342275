internal import Core

/// What options may not be together, and which values are out of range.
enum OptionRules {
  /// Checks an invocation that is right word by word.
  static func check(_ invocation: Invocation) throws(UsageError) {
    try checkOperands(invocation)
    for (first, second) in impossiblePairs where invocation.has(first) && invocation.has(second) {
      throw UsageError(
        "\(first.spelling) and \(second.spelling) exclude each other; give one of them"
      )
    }
    if invocation.has(.writeBack), invocation.mountFlags.isSynchronous {
      throw UsageError(
        "--write-back lets a close return before the store has the file, and -o sync forbids that; give one of "
          + "them"
      )
    }
    try checkSizes(invocation)
    try StorageRules.check(invocation)
    if let endpoint = invocation.text(.endpoint) { try checkScheme(endpoint) }
    switch invocation.command {
    case .get: try checkStandardOutput(invocation)
    case .put: try checkUpload(invocation)
    case .cp: try checkCopy(invocation)
    case .warm, .evict, .map:
      for operand in invocation.operands { try operand.refuseURL(named: "PATH") }
    case .mount, .unmount, .status, .ls, .recover, .doctor, .demo: break
    }
  }

  private static let impossiblePairs: [(OptionName, OptionName)] = [
    (.profile, .anonymous),
    (.pathStyle, .customDomain),
    (.progress, .noProgress),
    (.checkpoint, .noCheckpoint),
    (.abort, .forceRestart),
    (.abort, .noCheckpoint),
    (.writeBack, .readOnly),
    (.writeBack, .offline),
  ]

  private static func checkOperands(_ invocation: Invocation) throws(UsageError) {
    let command = Command.named(invocation.command)
    let count = invocation.operands.count
    if count < command.operandCount.lowerBound {
      throw UsageError(
        "'\(command.name)' needs \(command.operands); 'dipper \(command.name) --help' has examples"
      )
    }
    if count > command.operandCount.upperBound {
      let extra = invocation.operands[command.operandCount.upperBound].bytes.printable
      throw UsageError(
        "'\(command.name)' takes \(command.operands.isEmpty ? "no operands" : command.operands)"
          + ", so '\(extra)' is one too many"
      )
    }
  }

  /// Refuses an address without a scheme where https, which a name means then, would be a bad guess.
  ///
  /// Hardly any number has a certificate, and hardly any server on this machine: whoever means http
  /// would wait for a handshake that can't succeed, and learn nothing from how it fails.
  private static func checkScheme(_ endpoint: String) throws(UsageError) {
    guard !endpoint.contains("://") else { return }
    let authority = endpoint.prefix { $0 != "/" }
    let host = authority.hasPrefix("[") ? authority : authority.prefix { $0 != ":" }
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    let isNumber =
      host.hasPrefix("[") || authority.count { $0 == ":" } > 1
      || (parts.count == 4 && parts.allSatisfy { UInt8($0) != nil })
    guard isNumber || host == "localhost" || host.hasSuffix(".localhost") else { return }
    throw UsageError(
      "--endpoint needs http:// or https:// before \(endpoint.utf8.printable): without it a name means "
        + "https, but a number or localhost could be either"
    )
  }

  private static let mebibyte = 1 << 20

  private static func checkSizes(_ invocation: Invocation) throws(UsageError) {
    if let size = invocation.number(.partSize), size != 0 {
      if invocation.command == .mount {
        // 128 KiB is what one read of the kernel asks for at least.
        guard size >= 128 << 10 else {
          throw UsageError("--part-size must be at least 128K for a mount, or 0 for the default")
        }
      } else {
        // Source: the limits of a part in S3 and TOS, 5 MiB and 5 GiB.
        guard (5 * mebibyte...5 * 1024 * mebibyte).contains(size) else {
          throw UsageError("--part-size must be from 5M to 5G, or 0 for the default")
        }
      }
    }
    if let retries = invocation.number(.maxRetries), !(0...1000).contains(retries) {
      throw UsageError("--max-retries must be from 0 to 1000")
    }
    if let memory = invocation.number(.memory), memory < 16 * mebibyte {
      throw UsageError("--memory must be at least 16M")
    }
    if let size = invocation.number(.cacheSize), size < 16 * mebibyte {
      throw UsageError("--cache-size must be at least 16M")
    }
  }

  /// Nothing is left of an interrupted stream, so nothing that is about what is left makes sense.
  private static func checkStandardOutput(_ invocation: Invocation) throws(UsageError) {
    guard invocation.operands.count == 2, invocation.operands[1].bytes == Array("-".utf8) else {
      return
    }
    let senseless: [OptionName] = [.checkpoint, .tempFile, .forceRestart, .abort, .json]
    if let name = senseless.first(where: { invocation.has($0) }) {
      throw UsageError(
        "\(name.spelling) can't be had with '-' (standard output); give a file instead"
      )
    }
  }

  private static func checkUpload(_ invocation: Invocation) throws(UsageError) {
    if invocation.has(.versionID) {
      throw UsageError(
        "--version-id names a version to read, and 'put' makes a new one; leave it out"
      )
    }
    guard invocation.operands.first?.bytes == Array("-".utf8) else { return }
    let senseless: [OptionName] = [.checkpoint, .forceRestart, .abort]
    if let name = senseless.first(where: { invocation.has($0) }) {
      throw UsageError(
        "\(name.spelling) can't be had with '-' (standard input), which can't be read again; give a file "
          + "instead"
      )
    }
    if let size = invocation.number(.partSize), size > StreamPlan.partSizeMax {
      throw UsageError(
        "--part-size must be at most 256M with '-' (standard input), whose parts are held in memory"
      )
    }
  }

  private static func checkCopy(_ invocation: Invocation) throws(UsageError) {
    guard invocation.has(.metadata), invocation.text(.metadataDirective) != "replace" else {
      return
    }
    throw UsageError(
      "--metadata needs --metadata-directive replace, which leaves out what the source has"
    )
  }
}
