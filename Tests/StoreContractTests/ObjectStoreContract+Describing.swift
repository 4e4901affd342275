import Core
import Testing

extension ObjectStoreContract {
  /// All the header fields that an object is stored with.
  static let headers = HeaderFields([
    "Content-Type": "text/x-test; charset=utf-8",
    "Content-Encoding": "x-none",
    "Content-Language": "de, en",
    "Content-Disposition": "attachment; filename=\"a b.txt\"",
    "Cache-Control": "max-age=60, private",
    "Expires": "Mon, 30 Nov 2026 08:30:00 GMT",
  ])

  /// What objects say of themselves, and what is asked of them before they are read.
  static let describing: [Claim] = [
    Claim("header fields are kept as they were given") { setting in
      var request = PutRequest(key: setting.key("object"))
      request.headers = ContentHeaders(headers)
      _ = try await setting.store.put(request, body: .bytes([1]), context: setting.context)
      try await setting.expectHeaders(of: try await setting.head("object"))
    },
    Claim("a head obeys each of its conditions") { setting in
      let old = try #require(try await setting.put("object", pattern(10)).version.etag)
      try await setting.put("object", pattern(11))
      let head = try await setting.head("object")
      let now = try #require(head.version.etag)
      let modified = head.version.lastModified
      let before = Timestamp(seconds: modified.seconds - 3600)
      func kind(_ change: (inout ReadConditions) -> Void) async -> StoreError.Kind? {
        var conditions = ReadConditions()
        change(&conditions)
        return await setting.failure {
          let found = try await setting.store.head(
            setting.key("object"),
            versionID: nil,
            conditions: conditions,
            context: setting.context
          )
          #expect(found.version.etag == now)
        }
      }
      #expect(await kind { $0.ifMatch = now } == nil)
      #expect(await kind { $0.ifMatch = old } == .preconditionFailed)
      #expect(await kind { $0.ifNoneMatch = old } == nil)
      #expect(await kind { $0.ifNoneMatch = now } == .preconditionFailed)
      #expect(await kind { $0.ifModifiedSince = before } == nil)
      #expect(await kind { $0.ifModifiedSince = modified } == .preconditionFailed)
      #expect(await kind { $0.ifUnmodifiedSince = modified } == nil)
      #expect(await kind { $0.ifUnmodifiedSince = before } == .preconditionFailed)
    },
    Claim("tags are kept, counted and told apart") { setting in
      let tags = ["project": "dipper", "a b": "1+2 = 3/4", "empty": ""]
      var request = PutRequest(key: setting.key("tagged"))
      request.tags = tags
      _ = try await setting.store.put(request, body: .bytes([1]), context: setting.context)
      try await setting.put("plain")
      #expect(try await setting.tags("tagged") == tags)
      #expect(try await setting.tags("plain") == [:])
      if let count = try await setting.head("tagged").tagCount { #expect(count == 3) }
      let kind = await setting.failure { _ = try await setting.tags("missing") }
      #expect(kind == .notFound)
    },
    Claim("a put replaces tags and header fields too") { setting in
      var request = PutRequest(key: setting.key("object"))
      request.headers = ContentHeaders(headers)
      request.tags = ["old": "1"]
      _ = try await setting.store.put(request, body: .bytes([1]), context: setting.context)
      try await setting.put("object", contentType: "text/x-new")
      let head = try await setting.head("object")
      #expect(head.headers == ContentHeaders(contentType: "text/x-new"))
      #expect(try await setting.tags("object") == [:])
    },
    Claim("a batch removes what is there and minds nothing that isn't") { setting in
      let names = ["a", "b/c", "&<>\"'", "p+l%20us", "u\u{308}"]
      for name in names + ["kept"] { try await setting.put(name) }
      let keys = (names + ["missing"]).map(setting.key)
      #expect(try await setting.store.delete(keys, context: setting.context).isEmpty)
      #expect(setting.names(try await setting.list().objects) == ["kept"])
      #expect(try await setting.store.delete(keys, context: setting.context).isEmpty)
      #expect(try await setting.store.delete([], context: setting.context).isEmpty)
      #expect(try await setting.bytes("kept") != nil)
    },
    Claim("a batch may be larger than one request") { setting in
      guard !setting.has(.makesDirectoriesSlowly) else { return }
      for number in [0, 500, 1000, 1001] { try await setting.put("n\(number)") }
      let keys = (0..<1002).map { setting.key("n\($0)") }
      #expect(try await setting.store.delete(keys, context: setting.context).isEmpty)
      #expect(try await setting.list().objects.isEmpty)
    },
  ]
}

extension ObjectStoreContract.Setting {
  func tags(_ name: String) async throws -> [String: String] {
    try await store.tags(of: key(name), versionID: nil, context: context)
  }

  /// Checks that an object has all of `ObjectStoreContract.headers`.
  func expectHeaders(
    of metadata: ObjectMetadata,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let expected = ContentHeaders(ObjectStoreContract.headers)
    #expect(metadata.headers == expected, sourceLocation: sourceLocation)
  }
}
