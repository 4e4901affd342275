package import Core
internal import Crypto
internal import Support

extension SimulatedStore {
  package func createMultipartUpload(
    _ request: PutRequest,
    context: RequestContext
  ) async throws(StoreError) -> String {
    let call = Call(.createMultipartUpload, key: request.key, context: context)
    let now = time.wallTime
    return try await perform(call, context: context) { state in
      state.lastNumber += 1
      let id = "upload-\(state.lastNumber)"
      state.uploads[id] = Upload(request: request, initiated: now)
      return id
    }
  }

  package func uploadPart(
    _ upload: UploadReference,
    partNumber: Int,
    body: BodySource,
    context: RequestContext
  ) async throws(StoreError) -> UploadedPart {
    var content = try Self.content(of: body, .uploadPart, upload.key)
    let call = Call(.uploadPart, key: upload.key, context: context, partNumber: partNumber)
    if damage?(call) == true { content = .bytes(content.allBytes.map { $0 ^ 0x20 }) }
    let crc64 = behaviour.keepsChecksums ? content.crc64 : nil
    let digest = behaviour.tagsAreDigests ? content.digest : nil
    let arrived = content
    return try await perform(call, context: context, sentByteCount: content.size) {
      (state: inout State) throws(StoreError) in
      try state.setPart(partNumber, of: upload, arrived, crc64, digest, .uploadPart)
    }
  }

  package func uploadPartCopy(
    _ upload: UploadReference,
    partNumber: Int,
    source: CopySource,
    range: ByteRange,
    context: RequestContext
  ) async throws(StoreError) -> UploadedPart {
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
      let object = try state.copied(source, behaviour, .uploadPartCopy)
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
      let crc64 = behaviour.keepsChecksums ? content.crc64 : nil
      let digest = behaviour.tagsAreDigests ? content.digest : nil
      let part = try state.setPart(
        partNumber,
        of: upload,
        content,
        crc64,
        digest,
        .uploadPartCopy
      )
      state.noteCopied(range.count, call)
      return part
    }
  }

  package func completeMultipartUpload(
    _ upload: UploadReference,
    parts: [UploadedPart],
    condition: WriteCondition,
    context: RequestContext
  ) async throws(StoreError) -> CompletedUpload {
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
      let chosen = try stored.chosen(parts, partSizeMin: behaviour.partSizeMin)
      if behaviour.obeysWriteConditions {
        try state.check(condition, upload.key, .completeMultipartUpload)
      }
      let digest = behaviour.tagsAreDigests ? ETag.ofParts(parts) : nil
      let etag = digest ?? state.makeTag("-\(parts.count)")
      let crc64 = chosen.crc64
      _ = state.store(
        stored.request,
        .joined(chosen.map(\.content)),
        etag: etag,
        crc64: crc64,
        at: now
      )
      state.uploads[upload.uploadID] = nil
      return CompletedUpload(etag: etag, crc64: crc64)
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

  package func listMultipartUploads(
    prefix: ObjectKey,
    context: RequestContext
  ) async throws(StoreError) -> [UnfinishedUpload] {
    let call = Call(.listMultipartUploads, key: prefix, context: context)
    return try await perform(call, context: context) { (state: inout State) throws(StoreError) in
      state.uploads.filter { $0.value.request.key.hasPrefix(prefix) }
        .map { id, upload in
          UnfinishedUpload(
            reference: UploadReference(key: upload.request.key, uploadID: id),
            initiated: upload.initiated
          )
        }
        .sorted {
          ($0.reference.key, $0.reference.uploadID) < ($1.reference.key, $1.reference.uploadID)
        }
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

  /// Stores a part.
  mutating func setPart(
    _ partNumber: Int,
    of reference: UploadReference,
    _ content: SimulatedContent,
    _ crc64: UInt64?,
    _ digest: ETag?,
    _ operation: StoreOperation
  ) throws(StoreError) -> UploadedPart {
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
    let etag = digest ?? makeTag()
    upload.parts[partNumber] = SimulatedStore.Upload.Part(
      content: content,
      etag: etag,
      crc64: crc64
    )
    uploads[reference.uploadID] = upload
    return UploadedPart(partNumber: partNumber, etag: etag, size: content.size, crc64: crc64)
  }
}

extension SimulatedStore.Upload {
  /// The named parts, if they are there, in order and large enough.
  func chosen(
    _ named: [UploadedPart],
    partSizeMin: Int
  ) throws(StoreError) -> [Part] {
    guard !named.isEmpty else { throw invalid("MalformedXML", "no parts were named") }
    var chosen: [Part] = []
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
      chosen.append(stored)
    }
    return chosen
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

extension [SimulatedStore.Upload.Part] {
  /// The checksum of all parts behind one another; nil if one of them has none.
  fileprivate var crc64: UInt64? {
    var sum: UInt64 = 0
    for part in self {
      guard let crc64 = part.crc64 else { return nil }
      sum = CRC64.combine(sum, crc64, lengthB: part.content.size)
    }
    return sum
  }
}
