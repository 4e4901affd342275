import Core
import Testing

/// The least size of a part that isn't the last; S3's.
private let partSize = 5 << 20

extension ObjectStoreContract {
  static let multipart: [Claim] = [
    Claim("a multipart upload is the object when it is completed, not before") { setting in
      let first = pattern(partSize)
      let last = pattern(1234, seed: 7)
      try await setting.put("object", pattern(3))
      let upload = try await setting.create("object", userMetadata: ["color": "blue"])
      // Out of order, and the first twice: the later one counts.
      let lastTag = try await setting.upload(last, upload, 2)
      _ = try await setting.upload(pattern(partSize, seed: 9), upload, 1)
      let firstTag = try await setting.upload(first, upload, 1)
      let parts = [
        UploadedPart(partNumber: 1, etag: firstTag, size: partSize),
        UploadedPart(partNumber: 2, etag: lastTag, size: 1234),
      ]
      if !setting.has(.spellsPartsDifferently) {
        let listed = try await setting.store.listParts(upload, context: setting.context)
        if setting.has(.listsReplacedParts) {
          // A part of which there are two must not be taken for either.
          #expect(listed == [parts[1]])
        } else {
          #expect(listed == parts)
        }
      }
      #expect(try await setting.bytes("object") == pattern(3))
      let etag = try await setting.complete(upload, parts)
      let head = try await setting.head("object")
      #expect(head.version.etag == etag)
      #expect(head.userMetadata == ["color": "blue"])
      #expect(try await setting.bytes("object") == first + last)
    },
    Claim("a part can be a range of another object") { setting in
      let source = pattern(partSize + 1000)
      let etag = try await setting.put("source", source).version.etag
      let upload = try await setting.create("object")
      let copySource = CopySource(key: setting.key("source"), ifMatch: etag)
      let first = try await setting.store.uploadPartCopy(
        upload,
        partNumber: 1,
        source: copySource,
        range: ByteRange(500, partSize + 500),
        context: setting.context
      )
      let second = try await setting.upload([1, 2, 3], upload, 2)
      let parts = [
        UploadedPart(partNumber: 1, etag: first), UploadedPart(partNumber: 2, etag: second),
      ]
      _ = try await setting.complete(upload, parts)
      #expect(
        try await setting.bytes("object") == Array(source[500..<partSize + 500]) + [1, 2, 3]
      )
    },
    Claim("a part copy checks the source's version") { setting in
      guard !setting.has(.ignoresCopySourceCondition) else { return }
      let old = try await setting.put("source", pattern(10)).version.etag
      try await setting.put("source", pattern(20))
      let upload = try await setting.create("object")
      let kind = await setting.failure {
        _ = try await setting.store.uploadPartCopy(
          upload,
          partNumber: 1,
          source: CopySource(key: setting.key("source"), ifMatch: old),
          range: ByteRange(0, 10),
          context: setting.context
        )
      }
      #expect(kind == .preconditionFailed)
      try await setting.store.abortMultipartUpload(upload, context: setting.context)
    },
    Claim("an aborted upload is gone and left no object") { setting in
      let upload = try await setting.create("object")
      let etag = try await setting.upload(pattern(10), upload, 1)
      try await setting.store.abortMultipartUpload(upload, context: setting.context)
      let part = UploadedPart(partNumber: 1, etag: etag)
      let kind = await setting.failure { _ = try await setting.complete(upload, [part]) }
      if setting.has(.failsAfterAbort) {
        #expect(kind != nil)
      } else {
        #expect(kind == .noSuchUpload)
        #expect(
          await setting.failure { _ = try await setting.upload([1], upload, 2) } == .noSuchUpload
        )
      }
      try await setting.expectMissing("object")
      #expect(try await setting.list().objects.isEmpty)
    },
    Claim("completing with a part that isn't there fails and changes nothing") { setting in
      let upload = try await setting.create("object")
      let etag = try await setting.upload(pattern(10), upload, 1)
      for part in [
        UploadedPart(partNumber: 1, etag: ETag("00000000000000000000000000000000")),
        UploadedPart(partNumber: 2, etag: etag),
      ] {
        let kind = await setting.failure { _ = try await setting.complete(upload, [part]) }
        #expect(kind == .invalidRequest)
      }
      try await setting.expectMissing("object")
      let part = UploadedPart(partNumber: 1, etag: etag)
      _ = try await setting.complete(upload, [part])
      #expect(try await setting.bytes("object") == pattern(10))
    },
    Claim("completing obeys its condition") { setting in
      try await setting.put("object", pattern(3))
      let upload = try await setting.create("object")
      let etag = try await setting.upload(pattern(10), upload, 1)
      let part = UploadedPart(partNumber: 1, etag: etag)
      let kind = await setting.failure {
        _ = try await setting.complete(upload, [part], .ifAbsent)
      }
      #expect(kind == .alreadyExists)
      #expect(try await setting.bytes("object") == pattern(3))
    },
  ]
}

extension ObjectStoreContract.Setting {
  fileprivate func create(
    _ name: String,
    userMetadata: [String: String] = [:]
  ) async throws -> UploadReference {
    let request = PutRequest(key: key(name), userMetadata: userMetadata)
    let id = try await store.createMultipartUpload(request, context: context)
    return UploadReference(key: key(name), uploadID: id)
  }

  fileprivate func upload(
    _ bytes: [UInt8],
    _ upload: UploadReference,
    _ partNumber: Int
  ) async throws -> ETag {
    try await store.uploadPart(
      upload,
      partNumber: partNumber,
      body: .bytes(bytes),
      context: context
    )
  }

  fileprivate func complete(
    _ upload: UploadReference,
    _ parts: [UploadedPart],
    _ condition: WriteCondition = .none
  ) async throws -> ETag {
    try await store.completeMultipartUpload(
      upload,
      parts: parts,
      condition: condition,
      context: context
    )
  }
}
