package import Core
internal import Support

// What only some stores can do; `Behaviour` says whether this one does.
extension SimulatedStore {
  package func delete(
    _ keys: [ObjectKey],
    context: RequestContext
  ) async throws(StoreError) -> [ObjectKey: StoreError] {
    var start = 0
    while start < keys.count {
      let batch = keys[start..<min(start + 1000, keys.count)]
      start += batch.count
      let call = Call(.deleteObjects, key: batch.first, context: context)
      try await perform(call, context: context) { (state: inout State) throws(StoreError) in
        for key in batch { state.set(key, nil) }
      }
    }
    return [:]
  }

  package func tags(
    of key: ObjectKey,
    versionID: String?,
    context: RequestContext
  ) async throws(StoreError) -> [String: String] {
    let call = Call(.getObjectTagging, key: key, context: context)
    return try await perform(call, context: context) { (state: inout State) throws(StoreError) in
      try state.object(at: key, ReadConditions(), .getObjectTagging).tags
    }
  }

  package func rename(
    _ request: RenameRequest,
    context: RequestContext
  ) async throws(StoreError) {
    let call = Call(
      .renameObject,
      key: request.target,
      context: context,
      condition: request.replaces ? WriteCondition.none : .ifAbsent,
      source: request.source
    )
    let isAble = behaviour.renamesNatively
    try await perform(call, context: context) { (state: inout State) throws(StoreError) in
      state.hasTriedToRename = true
      guard isAble else { throw .unable(.renameObject, request.source) }
      try state.rename(request)
    }
  }

  package func replaceMetadata(
    _ request: PutRequest,
    context: RequestContext
  ) async throws(StoreError) {
    let call = Call(.setObjectMeta, key: request.key, context: context)
    let isAble = behaviour.replacesMetadataInPlace
    try await perform(call, context: context) { (state: inout State) throws(StoreError) in
      guard isAble else { throw .unable(.setObjectMeta, request.key) }
      var object = try state.object(at: request.key, ReadConditions(), .setObjectMeta)
      object.headers = request.headers
      object.userMetadata = request.userMetadata
      state.set(request.key, object)
    }
  }

  package func setModificationTime(
    of key: ObjectKey,
    to time: Timestamp,
    context: RequestContext
  ) async throws(StoreError) {
    let call = Call(.setObjectTime, key: key, context: context)
    let isAble = behaviour.setsTimes
    try await perform(call, context: context) { (state: inout State) throws(StoreError) in
      guard isAble else { throw .unable(.setObjectTime, key) }
      var object = try state.object(at: key, ReadConditions(), .setObjectTime)
      object.lastModified = time
      state.set(key, object)
    }
  }

  package func status(
    of key: ObjectKey,
    context: RequestContext
  ) async throws(StoreError) -> KeyStatus {
    let call = Call(.getFileStatus, key: key, context: context)
    let isAble = behaviour.tellsKeyStatus
    return try await perform(call, context: context) { (state: inout State) throws(StoreError) in
      guard isAble else { throw .unable(.getFileStatus, key) }
      if let object = state.objects[key] { return .object(object.listedMetadata(key)) }
      return state.objects.keys.contains { $0.hasPrefix(key.asDirectory) } ? .prefix : .nothing
    }
  }

  package func deleteDirectory(
    _ key: ObjectKey,
    context: RequestContext
  ) async throws(StoreError) {
    let call = Call(.deleteObject, key: key, context: context)
    let isAble = behaviour.removesDirectories
    try await perform(call, context: context) { (state: inout State) throws(StoreError) in
      guard isAble else { throw .unable(.deleteObject, key) }
      for inner in state.objects.keys where inner.hasPrefix(key.asDirectory) {
        state.set(inner, nil)
      }
    }
  }
}

extension SimulatedStore.State {
  /// Moves an object, or all below a directory.
  fileprivate mutating func rename(_ request: RenameRequest) throws(StoreError) {
    let isDirectory = request.source.isDirectoryMarker
    let sources =
      isDirectory
      ? objects.keys.filter { $0.hasPrefix(request.source) }
      : [request.source].filter { objects[$0] != nil }
    guard !sources.isEmpty else {
      throw StoreError(
        .notFound,
        .renameObject,
        key: request.source,
        status: 404,
        code: "NoSuchKey",
        message: "there is no such object"
      )
    }
    let isTaken =
      isDirectory
      ? objects.keys.contains { $0.hasPrefix(request.target) } : objects[request.target] != nil
    guard request.replaces || !isTaken else {
      throw StoreError(
        .alreadyExists,
        .renameObject,
        key: request.target,
        status: 409,
        code: "DuplicateObject",
        message: "there is an object already"
      )
    }
    for source in sources {
      let rest = source.bytes.dropFirst(request.source.bytes.count)
      set(ObjectKey(request.target.bytes + rest), objects[source])
      set(source, nil)
    }
  }
}

extension ObjectKey {
  /// The key as a directory's: with one slash at its end.
  fileprivate var asDirectory: ObjectKey {
    isDirectoryMarker ? self : ObjectKey(bytes + [UInt8(ascii: "/")])
  }
}

extension StoreError {
  /// This store has no such operation.
  fileprivate static func unable(_ operation: StoreOperation, _ key: ObjectKey) -> StoreError {
    StoreError(
      .unsupported,
      operation,
      key: key,
      status: 405,
      code: "MethodNotAllowed",
      message: "the simulated bucket can't do this"
    )
  }
}
