package import Core
internal import Glibc
internal import Support

extension SimulatedStore {
  package func head(
    _ key: ObjectKey,
    versionID: String?,
    conditions: ReadConditions,
    context: RequestContext
  ) async throws(StoreError) -> ObjectMetadata {
    let call = Call(.headObject, key: key, context: context, ifMatch: conditions.ifMatch)
    return try await perform(call, context: context) { (state: inout State) throws(StoreError) in
      try state.object(at: key, conditions, .headObject).metadata(key)
    }
  }

  package func get(
    _ request: GetRequest,
    into sink: any BodySink,
    context: RequestContext
  ) async throws(StoreError) -> GetAnswer {
    let call = Call(
      .getObject,
      key: request.key,
      context: context,
      range: request.range,
      ifMatch: request.ifMatch
    )
    let running = RunningCall(store: self, call: call, context: context)
    do throws(StoreError) {
      let answer = try await fetch(request, into: sink, running)
      running.end(.succeeded)
      return answer
    } catch {
      running.end(.failed(error.kind))
      throw error
    }
  }

  private func fetch(
    _ request: GetRequest,
    into sink: any BodySink,
    _ running: RunningCall
  ) async throws(StoreError) -> GetAnswer {
    try await running.start()
    let effect = faults.strike(.getObject, key: request.key)
    if case .fail(let kind, afterByteCount: 0) = effect {
      throw running.error(kind, "the simulated store failed")
    }
    let object = try state.withLock { (state: inout State) throws(StoreError) in
      try state.object(at: request.key, ReadConditions(ifMatch: request.ifMatch), .getObject)
    }
    guard !object.isArchived else {
      throw running.error(.archived, "the object is archived", code: "InvalidObjectState")
    }
    guard request.range.upperBound <= object.content.size else {
      throw running.error(.rangeNotSatisfiable, "the range ends behind the object")
    }
    try await send(object, request, into: sink, running, effect)
    if case .loseAnswer(let kind) = effect {
      throw running.error(kind, "the simulated answer was lost")
    }
    return GetAnswer(metadata: object.metadata(request.key), retryCount: 0)
  }

  /// Hands the body over in chunks, up to where the fault strikes.
  private func send(
    _ object: Object,
    _ request: GetRequest,
    into sink: any BodySink,
    _ running: RunningCall,
    _ effect: Fault.Effect?
  ) async throws(StoreError) {
    let strikesAt = effect?.byteCount.map { request.range.lowerBound + $0 } ?? .max
    var hasStruck = false
    var offset = request.range.lowerBound
    while offset < request.range.upperBound {
      if offset == strikesAt, !hasStruck {
        hasStruck = true
        try await strike(effect, request.key, running)
      }
      var end = min(offset + behaviour.bodyChunkSize, request.range.upperBound)
      if !hasStruck { end = min(end, max(strikesAt, offset + 1)) }
      let bytes = object.content.bytes(offset..<end)
      do throws(DiskFailure) {
        try sink.receive(bytes.span.bytes, at: offset)
      } catch {
        var failure = running.error(.sinkRefused, error.description)
        failure.errno = error.errno
        throw failure
      }
      running.update { $0.receivedByteCount += bytes.count }
      offset = end
      let isLast = offset == request.range.upperBound
      try await running.pass(
        isLast ? .answer : .body(sentByteCount: offset - request.range.lowerBound)
      )
    }
    // A fault behind the end of the body strikes at its end.
    if !hasStruck { try await strike(effect, request.key, running) }
  }

  private func strike(
    _ effect: Fault.Effect?,
    _ key: ObjectKey,
    _ running: RunningCall
  ) async throws(StoreError) {
    switch effect {
    case .fail(let kind, _):
      throw running.error(kind, "the simulated body broke off")
    case .hang:
      throw await running.hang()
    case .replaceObject(let content, _, let breaksOff):
      place(key, content)
      if breaksOff { throw running.error(.preconditionFailed, "the object was replaced") }
    case .loseAnswer, nil:
      break
    }
  }

  package func probe(context: RequestContext) async throws(StoreError) {
    try await perform(Call(.headBucket, key: nil, context: context), context: context) { _ in }
  }

  package func put(
    _ request: PutRequest,
    body: BodySource,
    context: RequestContext
  ) async throws(StoreError) -> ObjectMetadata {
    let content = try Self.content(of: body, .putObject, request.key)
    var request = request
    if request.key.isDirectoryMarker, !behaviour.keepsMarkerMetadata { request.userMetadata = [:] }
    let call = Call(
      .putObject,
      key: request.key,
      context: context,
      condition: request.condition
    )
    let now = time.wallTime
    let obeys = behaviour.obeysWriteConditions
    let crc64 = behaviour.keepsChecksums ? content.crc64 : nil
    let digest = behaviour.tagsAreDigests ? content.digest : nil
    return try await perform(call, context: context, sentByteCount: content.size) {
      [request] (state: inout State) throws(StoreError) in
      if obeys { try state.check(request.condition, request.key, .putObject) }
      return state.store(request, content, etag: digest ?? state.makeTag(), crc64: crc64, at: now)
    }
  }

  package func delete(
    _ key: ObjectKey,
    ifMatch: ETag?,
    context: RequestContext
  ) async throws(StoreError) {
    let call = Call(.deleteObject, key: key, context: context, ifMatch: ifMatch)
    let obeys = behaviour.obeysWriteConditions
    try await perform(call, context: context) { (state: inout State) throws(StoreError) in
      if obeys, let ifMatch, let object = state.objects[key], object.etag != ifMatch {
        throw .preconditionFailed(.deleteObject, key)
      }
      state.set(key, nil)
    }
  }

  package func copy(
    _ request: CopyRequest,
    context: RequestContext
  ) async throws(StoreError) -> ObjectMetadata {
    var call = Call(
      .copyObject,
      key: request.target.key,
      context: context,
      condition: request.target.condition,
      source: request.source.key
    )
    call.ifMatch = request.source.ifMatch
    let now = time.wallTime
    let behaviour = behaviour
    return try await perform(call, context: context) { (state: inout State) throws(StoreError) in
      let source = try state.copied(request.source, behaviour, .copyObject)
      guard source.content.size <= behaviour.copySizeMax else {
        throw StoreError(
          .tooLarge,
          .copyObject,
          key: request.source.key,
          message: "the source is too large to be copied in one request"
        )
      }
      if behaviour.obeysWriteConditions {
        try state.check(request.target.condition, request.target.key, .copyObject)
      }
      var target = request.target
      if !request.replacesMetadata {
        target.headers = source.headers
        target.userMetadata = source.userMetadata
      }
      if !request.replacesTags { target.tags = source.tags }
      state.noteCopied(source.content.size, call)
      return state.store(
        target,
        source.content,
        etag: behaviour.copiesKeepTags ? source.etag : state.makeTag(),
        crc64: source.crc64,
        at: now
      )
    }
  }

  /// The bytes of a request's body.
  static func content(
    of body: BodySource,
    _ operation: StoreOperation,
    _ key: ObjectKey
  ) throws(StoreError) -> SimulatedContent {
    switch body {
    case .empty: return .bytes([])
    case .bytes(let bytes): return .bytes(bytes)
    case .file(let descriptor, let range):
      var bytes = [UInt8](repeating: 0, count: range.count)
      var done = 0
      while done < range.count {
        let count = bytes.withUnsafeMutableBytes { buffer in
          pread(
            descriptor,
            buffer.baseAddress.map { $0 + done },
            buffer.count - done,
            range.lowerBound + done
          )
        }
        guard count > 0 else {
          throw StoreError(.invalidRequest, operation, key: key, message: "the body is too short")
        }
        done += count
      }
      return .bytes(bytes)
    }
  }
}

extension Fault.Effect {
  /// After how many bytes of a body it strikes; nil if it doesn't strike a body.
  fileprivate var byteCount: Int? {
    switch self {
    case .fail(_, let count), .hang(let count): count
    case .replaceObject(_, let count, _): count
    case .loseAnswer: nil
    }
  }
}

extension SimulatedStore.State {
  /// The object at `key`, if it is there and is the version asked for.
  func object(
    at key: ObjectKey,
    _ conditions: ReadConditions,
    _ operation: StoreOperation
  ) throws(StoreError) -> SimulatedStore.Object {
    guard let object = objects[key] else {
      throw StoreError(
        .notFound,
        operation,
        key: key,
        status: 404,
        code: "NoSuchKey",
        message: "there is no such object"
      )
    }
    guard conditions.objection(to: object.metadata(key).version) == nil else {
      throw .preconditionFailed(operation, key)
    }
    return object
  }

  /// Throws unless a write's condition holds.
  func check(
    _ condition: WriteCondition,
    _ key: ObjectKey,
    _ operation: StoreOperation
  ) throws(StoreError) {
    switch condition {
    case .none: break
    case .ifAbsent:
      guard objects[key] == nil else {
        throw StoreError(
          .alreadyExists,
          operation,
          key: key,
          status: 412,
          code: "PreconditionFailed",
          message: "there is an object already"
        )
      }
    case .ifMatch(let etag):
      // Source: Amazon S3 user guide, "Conditional writes": 404 if the object is not there.
      _ = try object(at: key, ReadConditions(ifMatch: etag), operation)
    }
  }

  /// The object that a copy reads, in this bucket or in another one of the store.
  func copied(
    _ source: CopySource,
    _ behaviour: SimulatedStore.Behaviour,
    _ operation: StoreOperation
  ) throws(StoreError) -> SimulatedStore.Object {
    let conditions = behaviour.obeysCopySourceCondition ? source.conditions : ReadConditions()
    guard let bucket = source.bucket else {
      return try object(at: source.key, conditions, operation)
    }
    guard let neighbour = neighbours[bucket] else {
      throw StoreError(
        .noSuchBucket,
        operation,
        key: source.key,
        status: 404,
        code: "NoSuchBucket",
        message: "there is no such bucket"
      )
    }
    return try neighbour.state.withLock { (state: inout Self) throws(StoreError) in
      try state.object(at: source.key, conditions, operation)
    }
  }

  /// Makes `content` the object that `request` describes.
  mutating func store(
    _ request: PutRequest,
    _ content: SimulatedContent,
    etag: ETag,
    crc64: UInt64?,
    at time: Timestamp
  ) -> ObjectMetadata {
    let object = SimulatedStore.Object(request, content, etag: etag, crc64: crc64, at: time)
    set(request.key, object)
    return object.metadata(request.key)
  }

  /// Enters bytes that the store copied in the last entry of this call in the log.
  mutating func noteCopied(_ byteCount: Int, _ call: Call) {
    let index = calls.lastIndex {
      $0.operation == call.operation && $0.key == call.key && $0.partNumber == call.partNumber
        && $0.outcome == nil
    }
    if let index { calls[index].copiedByteCount = byteCount }
  }
}

extension StoreError {
  /// The object is another version than asked for.
  fileprivate static func preconditionFailed(
    _ operation: StoreOperation,
    _ key: ObjectKey
  ) -> StoreError {
    StoreError(
      .preconditionFailed,
      operation,
      key: key,
      status: 412,
      code: "PreconditionFailed",
      message: "the object is another version"
    )
  }
}
