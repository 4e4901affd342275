import Core
import Simulation
import Support
import Testing

extension ObjectStoreContract {
  static let writing: [Claim] = [
    Claim("a put replaces the whole object") { setting in
      try await setting.put("object", pattern(5000), userMetadata: ["old": "1"])
      try await setting.put("object", pattern(10, seed: 3))
      #expect(try await setting.bytes("object") == pattern(10, seed: 3))
      #expect(try await setting.head("object").userMetadata == [:])
    },
    Claim("a body is taken from a range of a file") { setting in
      let file = try TestDirectory().write(pattern(10_000), to: "body")
      let request = PutRequest(key: setting.key("object"))
      let body = BodySource.file(descriptor: file.number, range: ByteRange(1000, 3000))
      let metadata = try await setting.store.put(request, body: body, context: setting.context)
      withExtendedLifetime(file) {}
      #expect(metadata.size == 2000)
      #expect(try await setting.bytes("object") == Array(pattern(10_000)[1000..<3000]))
    },
    Claim("a create succeeds only where nothing is") { setting in
      try await setting.put("object", pattern(10), condition: .ifAbsent)
      let kind = await setting.failure {
        try await setting.put("object", pattern(20), condition: .ifAbsent)
      }
      #expect(kind == .alreadyExists)
      #expect(try await setting.bytes("object") == pattern(10))
    },
    Claim("a replace succeeds only on the version it names") { setting in
      let first = try #require(try await setting.put("object", pattern(10)).version.etag)
      let second = try #require(
        try await setting.put("object", pattern(20), condition: .ifMatch(first)).version.etag
      )
      #expect(first != second)
      let kind = await setting.failure {
        try await setting.put("object", pattern(30), condition: .ifMatch(first))
      }
      #expect(kind == .preconditionFailed)
      #expect(try await setting.bytes("object") == pattern(20))
      let missing = await setting.failure {
        try await setting.put("missing", pattern(30), condition: .ifMatch(first))
      }
      #expect(missing == .notFound || missing == .preconditionFailed)
      try await setting.expectMissing("missing")
    },
    Claim("of concurrent creates one wins") { setting in
      let winners = await withTaskGroup(of: Int?.self) { group in
        for number in 0..<8 {
          group.addTask {
            let kind = await setting.failure {
              try await setting.put("object", [UInt8(number)], condition: .ifAbsent)
            }
            #expect(kind == nil || kind == .alreadyExists || kind == .conflict)
            return kind == nil ? number : nil
          }
        }
        return await group.reduce(into: [Int]()) { if let number = $1 { $0.append(number) } }
      }
      #expect(winners.count == 1 || setting.has(.racesConditions))
      let bytes = try await setting.bytes("object")
      if winners.count == 1 { #expect(bytes == winners.map(UInt8.init)) }
    },
    Claim("a delete removes, and once more is no error") { setting in
      try await setting.put("object")
      for _ in 0..<2 {
        try await setting.store.delete(
          setting.key("object"),
          ifMatch: nil,
          context: setting.context
        )
        #expect(await setting.failure { _ = try await setting.head("object") } == .notFound)
      }
      #expect(try await setting.list().objects.isEmpty)
    },
    Claim("a delete of another version than named fails and keeps the object") { setting in
      let old = try await setting.put("object", pattern(10)).version.etag
      let new = try await setting.put("object", pattern(11)).version.etag
      let kind = await setting.failure {
        try await setting.store.delete(
          setting.key("object"),
          ifMatch: old,
          context: setting.context
        )
      }
      #expect(kind == .preconditionFailed)
      #expect(try await setting.bytes("object") == pattern(11))
      try await setting.store.delete(
        setting.key("object"),
        ifMatch: new,
        context: setting.context
      )
      try await setting.expectMissing("object")
    },
  ]

  static let copying: [Claim] = [
    Claim("a copy has the source's bytes and facts") { setting in
      try await setting.put(
        "source",
        pattern(70_000),
        contentType: "text/x-test",
        userMetadata: ["color": "blue"]
      )
      let copied = try await setting.copy("source", "target")
      #expect(copied.key == setting.key("target"))
      #expect(try await setting.bytes("target") == pattern(70_000))
      #expect(try await setting.bytes("source") == pattern(70_000))
      let head = try await setting.head("target")
      #expect(head.version.etag == copied.version.etag)
      #expect(head.headers.contentType == "text/x-test")
      #expect(head.userMetadata == ["color": "blue"])
    },
    Claim("a copy can get new facts, onto itself too") { setting in
      try await setting.put("object", pattern(100), userMetadata: ["old": "1"])
      for target in ["other", "object"] {
        var request = PutRequest(key: setting.key(target), contentType: "text/x-new")
        request.userMetadata = ["new": "2"]
        let source = CopySource(key: setting.key("object"))
        _ = try await setting.store.copy(
          CopyRequest(source: source, target: request, replacesMetadata: true),
          context: setting.context
        )
        let head = try await setting.head(target)
        #expect(head.userMetadata == ["new": "2"], "\(target)")
        #expect(head.headers.contentType == "text/x-new", "\(target)")
        #expect(try await setting.bytes(target) == pattern(100), "\(target)")
      }
    },
    Claim("a copy takes header fields and tags along, or gets new ones") { setting in
      var source = PutRequest(key: setting.key("source"), userMetadata: ["color": "blue"])
      source.headers = ContentHeaders(headers)
      source.tags = ["old": "1"]
      _ = try await setting.store.put(source, body: .bytes([1]), context: setting.context)
      _ = try await setting.copy("source", "same")
      try await setting.expectHeaders(of: try await setting.head("same"))
      #expect(try await setting.tags("same") == ["old": "1"])
      var target = PutRequest(key: setting.key("new"))
      target.tags = ["new": "2 3"]
      let request = CopyRequest(
        source: CopySource(key: source.key),
        target: target,
        replacesTags: true
      )
      _ = try await setting.store.copy(request, context: setting.context)
      try await setting.expectHeaders(of: try await setting.head("new"))
      #expect(try await setting.tags("new") == ["new": "2 3"])
    },
    Claim("a copy checks the source's version, and on failure the target is as it was") { setting in
      let old = try await setting.put("source", pattern(10)).version.etag
      let new = try await setting.put("source", pattern(20)).version.etag
      try await setting.put("target", pattern(5))
      if !setting.has(.ignoresCopySourceCondition) {
        let kind = await setting.failure {
          _ = try await setting.copy("source", "target", ifMatch: old)
        }
        #expect(kind == .preconditionFailed)
        #expect(try await setting.bytes("target") == pattern(5))
      }
      _ = try await setting.copy("source", "target", ifMatch: new)
      #expect(try await setting.bytes("target") == pattern(20))
    },
    Claim("a copy of a missing source is not found") { setting in
      let kind = await setting.failure { _ = try await setting.copy("missing", "target") }
      #expect(kind == .notFound)
      try await setting.expectMissing("target")
    },
    Claim("a copy obeys its target's condition") { setting in
      guard !setting.has(.ignoresCopyTargetCondition) else { return }
      try await setting.put("source", pattern(10))
      _ = try await setting.copy("source", "target", condition: .ifAbsent)
      try await setting.put("source", pattern(20))
      let kind = await setting.failure {
        _ = try await setting.copy("source", "target", condition: .ifAbsent)
      }
      #expect(kind == .alreadyExists)
      #expect(try await setting.bytes("target") == pattern(10))
    },
  ]
}

extension ObjectStoreContract.Setting {
  fileprivate func copy(
    _ source: String,
    _ target: String,
    ifMatch: ETag? = nil,
    condition: WriteCondition = .none
  ) async throws -> ObjectMetadata {
    let request = CopyRequest(
      source: CopySource(key: key(source), ifMatch: ifMatch),
      target: PutRequest(key: key(target), condition: condition)
    )
    return try await store.copy(request, context: context)
  }
}
