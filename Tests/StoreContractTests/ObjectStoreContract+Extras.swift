import Core
import Crypto
import Testing

extension ObjectStoreContract {
  /// What only some stores can do: those do it, the others refuse it and change nothing.
  static let extras: [Claim] = [
    Claim("a rename takes an object along whole, or is refused") { setting in
      try await setting.put("old", pattern(5000), contentType: "a/b", userMetadata: ["n": "1"])
      try await setting.put("new", pattern(3))
      guard try await setting.rename("old", "new") else {
        #expect(try await setting.bytes("old") == pattern(5000))
        #expect(try await setting.bytes("new") == pattern(3))
        return
      }
      try await setting.expectMissing("old")
      #expect(try await setting.bytes("new") == pattern(5000))
      let head = try await setting.head("new")
      #expect(head.headers.contentType == "a/b")
      #expect(head.userMetadata == ["n": "1"])
    },
    Claim("a rename that must not replace doesn't") { setting in
      try await setting.put("old", pattern(10))
      try await setting.put("taken", pattern(3))
      let kind = await setting.failure {
        _ = try await setting.rename("old", "taken", replaces: false)
      }
      #expect(kind == (setting.renames ? .alreadyExists : nil))
      #expect(try await setting.bytes("old") == pattern(10))
      #expect(try await setting.bytes("taken") == pattern(3))
      guard try await setting.rename("old", "free/new", replaces: false) else { return }
      #expect(try await setting.bytes("free/new") == pattern(10))
      try await setting.expectMissing("old")
    },
    Claim("a rename of nothing is not found") { setting in
      try await setting.put("probe", [1])
      guard try await setting.rename("probe", "probed") else { return }
      let kind = await setting.failure { _ = try await setting.rename("missing", "new") }
      #expect(kind == .notFound)
      try await setting.expectMissing("new")
    },
    Claim("a directory is renamed with all that is in it, where there are directories") { setting in
      guard setting.store.capabilities.hasDirectories else { return }
      for name in ["d/a", "d/e/b", "dx"] { try await setting.put(name, Array(name.utf8)) }
      #expect(try await setting.rename("d/", "to/new/"))
      #expect(try await setting.bytes("to/new/a") == Array("d/a".utf8))
      #expect(try await setting.bytes("to/new/e/b") == Array("d/e/b".utf8))
      #expect(try await setting.bytes("dx") == Array("dx".utf8))
      try await setting.expectMissing("d/a")
      let status = try await setting.store.status(of: setting.key("d"), context: setting.context)
      #expect(status == .nothing)
    },
    Claim("metadata is replaced where the object is, all of it") { setting in
      try await setting.put("object", pattern(100), contentType: "a/b", userMetadata: ["old": "1"])
      var request = PutRequest(key: setting.key("object"), userMetadata: ["new": "2 + \u{fc}"])
      request.headers = ContentHeaders(headers)
      let kind = await setting.failure {
        try await setting.store.replaceMetadata(request, context: setting.context)
      }
      let head = try await setting.head("object")
      #expect(try await setting.bytes("object") == pattern(100))
      guard setting.store.capabilities.hasInPlaceMetadata else {
        #expect(kind == .unsupported)
        #expect(head.userMetadata == ["old": "1"])
        return
      }
      #expect(kind == nil)
      #expect(head.userMetadata == ["new": "2 + \u{fc}"])
      try await setting.expectHeaders(of: head)
    },
    Claim("a modification time can be set to the nanosecond, or is refused") { setting in
      let before = try await setting.put("object").version
      let time = Timestamp(nanoseconds: 1_500_000_000_123_456_789)
      let kind = await setting.failure {
        try await setting.store.setModificationTime(
          of: setting.key("object"),
          to: time,
          context: setting.context
        )
      }
      let after = try await setting.head("object").version
      guard setting.store.capabilities.hasSettableTime else {
        #expect(kind == .unsupported)
        #expect(after.etag == before.etag)
        return
      }
      #expect(kind == nil)
      #expect(after.lastModified.wholeSecond == time.wholeSecond)
    },
    Claim("one request tells what a key is, or is refused") { setting in
      func status(_ name: String) async throws -> KeyStatus {
        try await setting.store.status(of: setting.key(name), context: setting.context)
      }
      try await setting.put("file", pattern(77))
      try await setting.put("dir/below")
      try await setting.put("directory")
      guard setting.store.capabilities.hasKeyStatus else {
        #expect(await setting.failure { _ = try await status("file") } == .unsupported)
        return
      }
      guard case .object(let metadata) = try await status("file") else {
        Issue.record("the object isn't one")
        return
      }
      #expect(metadata.version == (try await setting.head("file").version) || metadata.size == 77)
      #expect(metadata.version.etag == (try await setting.head("file").version.etag))
      #expect(try await status("dir") == .prefix)
      #expect(try await status("di") == .nothing)
      #expect(try await status("nothing") == .nothing)
    },
    Claim("a directory goes with all that is in it by one request, or is refused") { setting in
      for name in ["d/a", "d/e/b", "dx", "other"] { try await setting.put(name) }
      let kind = await setting.failure {
        try await setting.store.deleteDirectory(setting.key("d"), context: setting.context)
      }
      guard setting.store.capabilities.hasRecursiveDelete else {
        #expect(kind == .unsupported)
        #expect(try await setting.list().objects.count == 4)
        return
      }
      #expect(kind == nil)
      for name in ["d/a", "d/e/b"] { try await setting.expectMissing(name) }
      for name in ["dx", "other"] { #expect(try await setting.head(name).size == 7) }
    },
    Claim("a link says where it leads and is read as that, or is refused") { setting in
      try await setting.put("target", pattern(100))
      let target = LinkTarget(key: setting.key("target"))
      let kind = await setting.failure {
        try await setting.store.putLink(setting.key("link"), to: target, context: setting.context)
      }
      guard setting.store.capabilities.hasLinks else {
        #expect(kind == .unsupported)
        try await setting.expectMissing("link")
        return
      }
      #expect(kind == nil)
      #expect(
        try await setting.store.linkTarget(of: setting.key("link"), context: setting.context)
          == target
      )
      #expect(try await setting.head("link").size == 100)
      #expect(try await setting.bytes("link") == pattern(100))
    },
    Claim("the checksum of a whole object is told, however it came to be") { setting in
      let bytes = pattern(5 << 20) + pattern(1000, seed: 3)
      let whole = CRC64.checksum(of: bytes)
      let put = try await setting.put("put", bytes)
      guard setting.store.capabilities.wholeObjectChecksum == .crc64 else {
        #expect(try await setting.head("put").crc64 == nil)
        return
      }
      #expect(put.crc64 == whole)
      #expect(try await setting.head("put").crc64 == whole)
      let copied = try await setting.store.copy(
        CopyRequest(
          source: CopySource(key: setting.key("put")),
          target: PutRequest(key: setting.key("copy"))
        ),
        context: setting.context
      )
      #expect(copied.crc64 == whole)
      let request = PutRequest(key: setting.key("parts"))
      let id = try await setting.store.createMultipartUpload(request, context: setting.context)
      let upload = UploadReference(key: request.key, uploadID: id)
      let first = try await setting.store.uploadPartCopy(
        upload,
        partNumber: 1,
        source: CopySource(key: setting.key("put")),
        range: ByteRange(0, 5 << 20),
        context: setting.context
      )
      let rest = Array(bytes[(5 << 20)...])
      let last = try await setting.store.uploadPart(
        upload,
        partNumber: 2,
        body: .bytes(rest),
        context: setting.context
      )
      #expect(last.crc64 == CRC64.checksum(of: rest))
      let completed = try await setting.store.completeMultipartUpload(
        upload,
        parts: [first, last],
        condition: .none,
        context: setting.context
      )
      #expect(completed.crc64 == whole)
      #expect(try await setting.head("parts").crc64 == whole)
    },
  ]
}

extension ObjectStoreContract.Setting {
  /// True if the store renames, as far as it is known by now.
  fileprivate var renames: Bool { store.capabilities.hasNativeRename == true }

  /// Renames; false if the store refuses to, which it then must remember.
  fileprivate func rename(
    _ source: String,
    _ target: String,
    replaces: Bool = true
  ) async throws -> Bool {
    let request = RenameRequest(source: key(source), target: key(target), replaces: replaces)
    do throws(StoreError) {
      try await store.rename(request, context: context)
      #expect(store.capabilities.hasNativeRename == true)
      return true
    } catch {
      guard error.kind == .unsupported else { throw error }
      #expect(store.capabilities.hasNativeRename == false)
      return false
    }
  }
}
