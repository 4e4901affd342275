package import Core
internal import Support

extension SimulatedStore {
  package func createMultipartUpload(
    _ request: PutRequest,
    context: RequestContext
  ) async throws(StoreError) -> String {
    let call = Call(.createMultipartUpload, key: request.key, context: context)
    return try await perform(call, context: context) { state in
      state.lastNumber += 1
      let id = "upload-\(state.lastNumber)"
      state.uploads[id] = Upload(request: request)
      return id
    }
  }

  package func uploadPart(
    _ upload: UploadReference,
    partNumber: Int,
    body: BodySource,
    context: RequestContext
  ) async throws(StoreError) -> ETag {
    let content = try Self.content(of: body, .uploadPart, upload.key)
    let call = Call(.uploadPart, key: upload.key, context: context, partNumber: partNumber)
    return try await perform(call, context: context, sentByteCount: content.size) {
      (state: inout State) throws(StoreError) in
      try state.setPart(partNumber, of: upload, content, .uploadPart)
    }
  }

  package func uploadPartCopy(
    _ upload: UploadReference,
    partNumber: Int,
    source: CopySource,
    range: ByteRange,
    context: RequestContext
  ) async throws(StoreError) -> ETag {
    let call = Call(
      .uploadPartCopy,
      key: upload.key,
      context: context,
      range: range,
      ifMatch: source.ifMatch,
      partNumber: partNumber,
      source: source.key
    )
    let behaviour = behaviour
    return try await perform(call, context: context) { (state: inout State) throws(StoreError) in
      let object = try state.object(
        at: source.key,
        ifMatch: behaviour.obeysCopySourceCondition ? source.ifMatch : nil,
        .uploadPartCopy
      )
      guard !range.isEmpty, range.upperBound <= object.content.size else {
        throw StoreError(
          .rangeNotSatisfiable,
          .uploadPartCopy,
          key: source.key,
          status: 416,
          code: "InvalidRange",
          message: "the range lies outside the source"
        )
      }
      guard range.count <= behaviour.copySizeMax else {
        throw StoreError(
          .tooLarge,
          .uploadPartCopy,
          key: source.key,
          message: "the range is too large to be copied in one request"
        )
      }
      let content = object.content.slice(range.lowerBound..<range.upperBound)
      let etag = try state.setPart(partNumber, of: upload, content, .uploadPartCopy)
      state.noteCopied(range.count, call)
      return etag
    }
  }

  package func completeMultipartUpload(
    _ upload: UploadReference,
    parts: [UploadedPart],
    condition: WriteCondition,
    context: RequestContext
  ) async throws(StoreError) -> ETag {
    let call = Call(
      .completeMultipartUpload,
      key: upload.key,
      context: context,
      condition: condition
    )
    let now = time.wallTime
    let behaviour = behaviour
    return try await perform(call, context: context) { (state: inout State) throws(StoreError) in
      let stored = try state.upload(upload, .completeMultipartUpload)
      let contents = try stored.contents(of: parts, partSizeMin: behaviour.partSizeMin)
      if behaviour.obeysWriteConditions {
        try state.check(condition, upload.key, .completeMultipartUpload)
      }
      let etag = state.makeTag("-\(parts.count)")
      _ = state.store(stored.request, .joined(contents), etag: etag, at: now)
      state.uploads[upload.uploadID] = nil
      return etag
    }
  }

  package func abortMultipartUpload(
    _ upload: UploadReference,
    context: RequestContext
  ) async throws(StoreError) {
    let call = Call(.abortMultipartUpload, key: upload.key, context: context)
    try await perform(call, context: context) { (state: inout State) throws(StoreError) in
      _ = try state.upload(upload, .abortMultipartUpload)
      state.uploads[upload.uploadID] = nil
    }
  }

  package func listParts(
    _ upload: UploadReference,
    context: RequestContext
  ) async throws(StoreError) -> [UploadedPart] {
    let call = Call(.listParts, key: upload.key, context: context)
    return try await perform(call, context: context) { (state: inout State) throws(StoreError) in
      try state.upload(upload, .listParts).parts.sorted { $0.key < $1.key }
        .map { UploadedPart(partNumber: $0, etag: $1.etag, size: $1.content.size) }
    }
  }
}

extension SimulatedStore.State {
  /// The upload that `reference` names.
  func upload(
    _ reference: UploadReference,
    _ operation: StoreOperation
  ) throws(StoreError) -> SimulatedStore.Upload {
    guard let upload = uploads[reference.uploadID], upload.request.key == reference.key else {
      throw StoreError(
        .noSuchUpload,
        operation,
        key: reference.key,
        status: 404,
        code: "NoSuchUpload",
        message: "there is no such multipart upload"
      )
    }
    return upload
  }

  /// Stores a part and returns its tag.
  mutating func setPart(
    _ partNumber: Int,
    of reference: UploadReference,
    _ content: SimulatedContent,
    _ operation: StoreOperation
  ) throws(StoreError) -> ETag {
    var upload = try upload(reference, operation)
    guard (1...10_000).contains(partNumber) else {
      throw StoreError(
        .invalidRequest,
        operation,
        key: reference.key,
        status: 400,
        code: "InvalidArgument",
        message: "part numbers go from 1 to 10,000"
      )
    }
    let etag = makeTag()
    upload.parts[partNumber] = SimulatedStore.Upload.Part(content: content, etag: etag)
    uploads[reference.uploadID] = upload
    return etag
  }
}

extension SimulatedStore.Upload {
  /// The contents of the named parts, if they are there, in order and large enough.
  func contents(
    of named: [UploadedPart],
    partSizeMin: Int
  ) throws(StoreError) -> [SimulatedContent] {
    guard !named.isEmpty else { throw invalid("MalformedXML", "no parts were named") }
    var contents: [SimulatedContent] = []
    for (index, part) in named.enumerated() {
      if index > 0, part.partNumber <= named[index - 1].partNumber {
        throw invalid("InvalidPartOrder", "the parts are not in ascending order")
      }
      guard let stored = parts[part.partNumber], stored.etag == part.etag else {
        throw invalid("InvalidPart", "part \(part.partNumber) is not there with that tag")
      }
      guard index == named.count - 1 || stored.content.size >= partSizeMin else {
        throw invalid("EntityTooSmall", "part \(part.partNumber) is too small")
      }
      contents.append(stored.content)
    }
    return contents
  }

  private func invalid(_ code: String, _ message: String) -> StoreError {
    StoreError(
      .invalidRequest,
      .completeMultipartUpload,
      key: request.key,
      status: 400,
      code: code,
      message: message
    )
  }
}
