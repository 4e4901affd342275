package import Core
internal import Glibc
internal import Support

extension LocalStore {
  package func createMultipartUpload(
    _ request: PutRequest,
    context: RequestContext
  ) async throws(StoreError) -> String {
    try await run(.createMultipartUpload, key: request.key, context: context) {
      call throws(StoreError) in
      let key = try call.namesToWrite(request.key)
      guard !key.isMarker else { throw call.unholdable("it ends in a slash and has bytes") }
      let commit = try self.openCommit(call)
      return try LocalUpload.create(request, commit)
    }
  }

  package func uploadPart(
    _ upload: UploadReference,
    partNumber: Int,
    body: BodySource,
    context: RequestContext
  ) async throws(StoreError) -> UploadedPart {
    try await run(.uploadPart, key: upload.key, context: context) { call throws(StoreError) in
      let commit = try self.openCommit(call)
      let local = try LocalUpload(upload, commit)
      let staged = try commit.stage()
      try staged.append(body, call)
      return try local.store(staged, asPart: partNumber)
    }
  }

  package func uploadPartCopy(
    _ upload: UploadReference,
    partNumber: Int,
    source: CopySource,
    range: ByteRange,
    context: RequestContext
  ) async throws(StoreError) -> UploadedPart {
    try await run(.uploadPartCopy, key: upload.key, context: context) { call throws(StoreError) in
      let commit = try self.openCommit(call)
      let local = try LocalUpload(upload, commit)
      let (file, facts) = try call.open(source, in: commit.tree)
      guard !range.isEmpty, facts.kind == .file, range.upperBound <= facts.size else {
        throw call.error(.rangeNotSatisfiable, "the range lies outside the source")
      }
      let staged = try commit.stage()
      try staged.append(range, of: file.number, call)
      try call.checkUnchanged(file, facts, source.key)
      return try local.store(staged, asPart: partNumber)
    }
  }

  package func completeMultipartUpload(
    _ upload: UploadReference,
    parts: [UploadedPart],
    condition: WriteCondition,
    context: RequestContext
  ) async throws(StoreError) -> CompletedUpload {
    try await run(.completeMultipartUpload, key: upload.key, context: context) {
      call throws(StoreError) in
      let commit = try self.openCommit(call)
      return try LocalUpload(upload, commit).complete(parts, condition)
    }
  }

  package func abortMultipartUpload(
    _ upload: UploadReference,
    context: RequestContext
  ) async throws(StoreError) {
    try await run(.abortMultipartUpload, key: upload.key, context: context) {
      call throws(StoreError) in
      let commit = try self.openCommit(call)
      try LocalUpload(upload, commit).abort()
    }
  }

  package func listParts(
    _ upload: UploadReference,
    context: RequestContext
  ) async throws(StoreError) -> [UploadedPart] {
    try await run(.listParts, key: upload.key, context: context) { call throws(StoreError) in
      let commit = try self.openCommit(call)
      return try LocalUpload(upload, commit).parts()
    }
  }

  package func listMultipartUploads(
    prefix: ObjectKey,
    context: RequestContext
  ) async throws(StoreError) -> [UnfinishedUpload] {
    try await run(.listMultipartUploads, key: prefix, context: context) { call throws(StoreError) in
      let commit = try self.openCommit(call)
      return try LocalUpload.unfinished(prefix: prefix, commit)
    }
  }
}
