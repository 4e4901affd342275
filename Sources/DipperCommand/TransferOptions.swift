internal import Daemon
internal import Dipper
internal import Support

extension PartOptions {
  /// Creates the options that a command line states.
  init(_ invocation: Invocation) {
    self.init()
    size = invocation.number(.partSize) ?? size
    parallel = invocation.number(.parallel) ?? parallel
    retryCountMax = invocation.number(.maxRetries) ?? retryCountMax
  }
}

extension BucketURL {
  /// Checks that stores of this kind can have what the command line asks of them.
  func check(_ invocation: Invocation) throws(Failure) {
    do throws(UsageError) {
      try StorageRules.check(invocation, for: scheme)
    } catch {
      throw Failure(error.message, code: .usage)
    }
  }
}

extension CheckpointPlace {
  /// Creates the place that a command line states, or `usual` if it states none.
  init(
    _ invocation: Invocation,
    otherwise usual: () throws(Failure) -> CheckpointPlace
  ) throws(Failure) {
    if invocation.has(.noCheckpoint) {
      self = .off
    } else if let path = invocation.text(.checkpoint) {
      self = .at(path: ProcessEnvironment.absolute(path))
    } else {
      self = try usual()
    }
  }

  /// Where copies and uploads, which have no file of their own, keep their checkpoints.
  static func stateDirectory() throws(Failure) -> CheckpointPlace {
    do throws(StateDirectory.Problem) {
      return .at(path: try StateDirectory.prepare(ProcessEnvironment.variables))
    } catch {
      throw Failure(error.description)
    }
  }
}

extension Bucket {
  /// Opens the bucket that `url` names for so many parts at a time.
  static func open(
    _ url: BucketURL,
    _ invocation: Invocation,
    _ parts: PartOptions,
    log: Log
  ) async throws(DipperError) -> Bucket {
    var stated = BucketOptions(invocation)
    // A few beside the parts, for what else there is to ask.
    stated.requestCountMax = min(max(parts.parallel, 1), 1000) + 2
    return try await open(
      url,
      options: stated,
      environment: ProcessEnvironment.variables,
      metrics: Metrics(),
      log: log
    )
  }
}

extension BucketURL {
  /// Returns the key of a target: what was given, with `name` behind it if that names a place for it.
  func targetKey(named name: [UInt8]?) throws(Failure) -> Bucket.Key {
    guard key.isEmpty || key.last == UInt8(ascii: "/") else { return Bucket.Key(bytes: key) }
    guard let name, !name.isEmpty else {
      throw Failure(
        "\(bucketName) names no object for it; give the URL with the object's key",
        code: .usage
      )
    }
    return Bucket.Key(bytes: key + name)
  }
}
