package import Core
internal import Glibc
internal import Support

extension LocalStore {
  package func probe(context: RequestContext) async throws(StoreError) {
    try await run(.headBucket, context: context) { call throws(StoreError) in
      let tree = try self.openTree(call)
      // A directory may be entered but not listed.
      _ = try call.attempt { () throws(DiskFailure) in try DirectoryNames.isEmpty(tree.root) }
    }
  }

  package func head(
    _ key: ObjectKey,
    versionID: String?,
    conditions: ReadConditions,
    context: RequestContext
  ) async throws(StoreError) -> ObjectMetadata {
    try await run(.headObject, key: key, context: context) { call throws(StoreError) in
      try call.refuse(versionID: versionID)
      let tree = try self.openTree(call)
      let (file, facts) = try call.open(key, in: tree)
      try call.check(conditions, facts, key)
      let attributes = try call.attempt { () throws(DiskFailure) in
        try ObjectAttributes(of: file)
      }
      return attributes.metadata(key, facts)
    }
  }

  package func tags(
    of key: ObjectKey,
    versionID: String?,
    context: RequestContext
  ) async throws(StoreError) -> [String: String] {
    try await run(.getObjectTagging, key: key, context: context) { call throws(StoreError) in
      try call.refuse(versionID: versionID)
      let (file, _) = try call.open(key, in: self.openTree(call))
      return try call.attempt { () throws(DiskFailure) in try ObjectAttributes(of: file).tags }
    }
  }

  package func list(
    _ request: ListRequest,
    context: RequestContext
  ) async throws(StoreError) -> ListPage {
    try await run(.listObjects, key: request.prefix, context: context) {
      call throws(StoreError) in
      var listing = try self.openListing(request, call)
      return try listing.run()
    }
  }

  package func get(
    _ request: GetRequest,
    into sink: any BodySink,
    context: RequestContext
  ) async throws(StoreError) -> GetAnswer {
    try await run(.getObject, key: request.key, context: context) { call throws(StoreError) in
      try call.refuse(versionID: request.versionID)
      let tree = try self.openTree(call)
      let (file, facts) = try call.open(request.key, in: tree)
      if let ifMatch = request.ifMatch, ifMatch != facts.etag { throw call.changed(request.key) }
      guard request.range.upperBound <= (facts.kind == .file ? facts.size : 0) else {
        throw call.error(.rangeNotSatisfiable, "the range ends behind the object")
      }
      let attributes = try call.attempt { () throws(DiskFailure) in
        try ObjectAttributes(of: file)
      }
      try call.send(request, from: file, facts, into: sink)
      return GetAnswer(metadata: attributes.metadata(request.key, facts), retryCount: 0)
    }
  }
}

extension LocalCall {
  /// What a body is read by and handed over in.
  private static let chunkSize = 1 << 20

  /// Throws if a particular version is asked for: a directory keeps only one.
  fileprivate func refuse(versionID: String?) throws(StoreError) {
    if versionID != nil { throw error(.unsupported, "a directory keeps no old versions") }
  }

  /// Throws unless an object is what `conditions` ask for.
  func check(
    _ conditions: ReadConditions,
    _ facts: FileFacts,
    _ key: ObjectKey
  ) throws(StoreError) {
    guard let objection = conditions.objection(to: facts.metadata(key).version) else { return }
    throw StoreError(.preconditionFailed, operation, key: key, message: objection)
  }

  /// Opens an object, a marker as its directory.
  func open(
    _ key: ObjectKey,
    in tree: LocalTree
  ) throws(StoreError) -> (FileDescriptor, FileFacts) {
    let names = try namesToRead(key)
    let found = try attempt { () throws(DiskFailure) in
      names.isMarker ? try tree.marker(names) : try tree.file(names)
    }
    guard let found else { throw notFound(key) }
    return found
  }

  /// Hands a range over chunk by chunk, each once it is sure that the file is still the same.
  fileprivate func send(
    _ request: GetRequest,
    from file: FileDescriptor,
    _ facts: FileFacts,
    into sink: any BodySink
  ) throws(StoreError) {
    var buffer = [UInt8](
      repeating: 0,
      count: min(request.range.count, stepSize(Self.chunkSize))
    )
    var offset = request.range.lowerBound
    while offset < request.range.upperBound {
      try check()
      let count = min(buffer.count, request.range.upperBound - offset)
      try pass(count)
      let (done, now) = try attempt { () throws(DiskFailure) in
        let done = try retrying("read \(request.key)") {
          pread(file.number, &buffer, count, off_t(offset))
        }
        return (done, try FileFacts(of: file))
      }
      // A write stamps the file before it changes a byte, so bytes of another version can't be
      // among those that were read before this second look.
      guard done > 0, now.etag == facts.etag else { throw changed(request.key) }
      do throws(DiskFailure) {
        try sink.receive(buffer.span.bytes.extracting(first: done), at: offset)
      } catch {
        var refusal = self.error(.sinkRefused, error.description)
        refusal.errno = error.errno
        throw refusal
      }
      metrics.received(done)
      offset += done
    }
  }
}
