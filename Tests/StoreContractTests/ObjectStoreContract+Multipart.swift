import Core
import Crypto
import Simulation
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
      let lastPart = try await setting.upload(last, upload, 2)
      _ = try await setting.upload(pattern(partSize, seed: 9), upload, 1)
      let parts = [try await setting.upload(first, upload, 1), lastPart]
      #expect(parts.map(\.partNumber) == [1, 2])
      #expect(parts.map(\.size) == [partSize, 1234])
      for (part, bytes) in zip(parts, [first, last]) {
        if let crc64 = part.crc64 { #expect(crc64 == CRC64.checksum(of: bytes)) }
      }
      let listed = try await setting.store.listParts(upload, context: setting.context)
      if setting.has(.listsReplacedParts) {
        // A part of which there are two must not be taken for either.
        #expect(listed.map(\.etag) == [parts[1].etag])
      } else {
        #expect(listed.map(\.etag) == parts.map(\.etag))
        #expect(listed.map(\.size) == [partSize, 1234])
      }
      #expect(try await setting.bytes("object") == pattern(3))
      let completed = try await setting.complete(upload, parts)
      let head = try await setting.head("object")
      #expect(head.version.etag == completed.etag)
      if let crc64 = completed.crc64 { #expect(crc64 == CRC64.checksum(of: first + last)) }
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
      #expect(first.partNumber == 1)
      #expect(first.size == partSize)
      _ = try await setting.complete(upload, [first, second])
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
      let part = try await setting.upload(pattern(10), upload, 1)
      try await setting.store.abortMultipartUpload(upload, context: setting.context)
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
      let part = try await setting.upload(pattern(10), upload, 1)
      for wrong in [
        UploadedPart(partNumber: 1, etag: ETag("00000000000000000000000000000000")),
        UploadedPart(partNumber: 2, etag: part.etag),
      ] {
        let kind = await setting.failure { _ = try await setting.complete(upload, [wrong]) }
        #expect(kind == .invalidRequest)
      }
      try await setting.expectMissing("object")
      _ = try await setting.complete(upload, [part])
      #expect(try await setting.bytes("object") == pattern(10))
    },
    Claim("completing obeys its condition") { setting in
      try await setting.put("object", pattern(3))
      let upload = try await setting.create("object")
      let part = try await setting.upload(pattern(10), upload, 1)
      let kind = await setting.failure {
        _ = try await setting.complete(upload, [part], .ifAbsent)
      }
      #expect(kind == .alreadyExists)
      #expect(try await setting.bytes("object") == pattern(3))
    },
    Claim("uploads that are under way are listed by prefix until they end") { setting in
      let first = try await setting.create("dir/first")
      let second = try await setting.create("dir/second")
      let other = try await setting.create("other")
      #expect(try await setting.unfinished("dir/") == [first, second])
      #expect(try await setting.unfinished("dir/s") == [second])
      #expect(try await setting.unfinished("nothing") == [])
      try await setting.store.abortMultipartUpload(first, context: setting.context)
      #expect(try await setting.unfinished("dir/") == [second])
      let part = try await setting.upload(pattern(10), second, 1)
      _ = try await setting.complete(second, [part])
      #expect(try await setting.unfinished("") == [other])
      try await setting.store.abortMultipartUpload(other, context: setting.context)
    },
    Claim("two uploads to one key are listed both") { setting in
      let uploads = [try await setting.create("object"), try await setting.create("object")]
      let listed = try await setting.unfinished("")
      #expect(Set(listed) == Set(uploads))
      #expect(listed.count == 2)
      for upload in uploads {
        try await setting.store.abortMultipartUpload(upload, context: setting.context)
      }
    },
    Claim("a completed upload has the headers and tags that it began with") { setting in
      var request = PutRequest(key: setting.key("object"), userMetadata: ["color": "blue"])
      request.headers = ContentHeaders(ObjectStoreContract.headers)
      request.tags = ["a b": "1+2"]
      let id = try await setting.store.createMultipartUpload(request, context: setting.context)
      let upload = UploadReference(key: request.key, uploadID: id)
      _ = try await setting.complete(upload, [try await setting.upload([1], upload, 1)])
      let head = try await setting.head("object")
      try await setting.expectHeaders(of: head)
      #expect(head.userMetadata == ["color": "blue"])
      #expect(try await setting.tags("object") == ["a b": "1+2"])
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
  ) async throws -> UploadedPart {
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
  ) async throws -> CompletedUpload {
    try await store.completeMultipartUpload(
      upload,
      parts: parts,
      condition: condition,
      context: context
    )
  }

  /// The uploads under way, in the order of their keys; a store may list them in any.
  fileprivate func unfinished(_ name: String) async throws -> [UploadReference] {
    let uploads = try await store.listMultipartUploads(prefix: key(name), context: context)
    // A clock that was never set would make every upload look abandoned.
    #expect(uploads.allSatisfy { $0.initiated.seconds > 0 || store is SimulatedStore })
    return uploads.map(\.reference).sorted { $0.key < $1.key }
  }
}
