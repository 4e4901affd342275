import Core
import Simulation
import Testing

extension ObjectStoreContract {
  static let reading: [Claim] = [
    Claim("a range is exactly its bytes") { setting in
      let bytes = pattern(300_000)
      let etag = try await setting.put("object", bytes).version.etag
      for (lower, upper) in [
        (0, 300_000), (0, 1), (299_999, 300_000), (65_535, 65_537), (123_456, 234_567),
      ] {
        let range = ByteRange(lower, upper)
        let got = try await setting.get("object", range, ifMatch: etag)
        #expect(got == Array(bytes[lower..<upper]), "\(range)")
      }
    },
    Claim("a range behind the end fails and gives no byte of another range") { setting in
      try await setting.put("object", pattern(1000))
      for range in [ByteRange(1000, 1001), ByteRange(5000, 6000), ByteRange(900, 1100)] {
        let sink = CollectingSink()
        let request = GetRequest(key: setting.key("object"), range: range, ifMatch: nil)
        let kind = await setting.failure {
          _ = try await setting.store.get(request, into: sink, context: setting.context)
        }
        #expect(kind == .rangeNotSatisfiable || kind == .invalidAnswer, "\(range)")
        // What a server sends of a range that is partly there may have come.
        #expect(sink.bytes.count <= max(0, 1000 - range.lowerBound), "\(range)")
      }
    },
    Claim("an empty object is there and has no bytes") { setting in
      try await setting.put("empty", [])
      let metadata = try await setting.head("empty")
      #expect(metadata.size == 0)
      #expect(metadata.version.etag != nil)
      let (objects, _, _) = try await setting.list()
      #expect(objects.map(\.size) == [0])
    },
    Claim("a read of the version asked for succeeds, and of another fails") { setting in
      let old = try await setting.put("object", pattern(100)).version
      let new = try await setting.put("object", pattern(100, seed: 1)).version
      #expect(old.etag != new.etag)
      let whole = ByteRange(0, 100)
      #expect(try await setting.get("object", whole, ifMatch: new.etag) == pattern(100, seed: 1))
      let sink = CollectingSink()
      let request = GetRequest(key: setting.key("object"), range: whole, ifMatch: old.etag)
      let kind = await setting.failure {
        _ = try await setting.store.get(request, into: sink, context: setting.context)
      }
      #expect(kind == .preconditionFailed)
      #expect(sink.bytes.isEmpty)
      #expect(try await setting.head("object", ifMatch: new.etag).version.etag == new.etag)
      #expect(
        await setting.failure { _ = try await setting.head("object", ifMatch: old.etag) }
          == .preconditionFailed
      )
    },
    Claim("a missing key is not found") { setting in
      try await setting.put("there")
      #expect(await setting.failure { _ = try await setting.head("missing") } == .notFound)
      #expect(await setting.failure { _ = try await setting.head("ther") } == .notFound)
      #expect(await setting.failure { _ = try await setting.head("there/below") } == .notFound)
      #expect(
        await setting.failure { _ = try await setting.get("missing", ByteRange(0, 1)) }
          == .notFound
      )
      #expect(
        await setting.failure {
          _ = try await setting.get("missing", ByteRange(0, 1), ifMatch: ETag("tag"))
        } == .notFound
      )
    },
    Claim("put, head, get and list tell the same version") { setting in
      let stored = try await setting.put("object", pattern(1234)).version
      let headed = try await setting.head("object").version
      let request = GetRequest(version: headed, range: ByteRange(0, 10))
      let answer = try await setting.store.get(
        request,
        into: CollectingSink(),
        context: setting.context
      )
      let (objects, _, _) = try await setting.list()
      let listed = try #require(objects.first).version
      #expect(stored.etag == headed.etag)
      for version in [headed, answer.metadata.version, listed] {
        #expect(version.key == setting.key("object"))
        #expect(version.size == 1234)
        #expect(version.isSameContent(as: headed))
        #expect(version.lastModified.wholeSecond == headed.lastModified.wholeSecond)
      }
    },
    Claim("content type and user metadata come back") { setting in
      let metadata = ["color": "blue", "mtime": "1700000000.123456789"]
      try await setting.put("object", contentType: "text/x-test", userMetadata: metadata)
      let head = try await setting.head("object")
      #expect(head.headers.contentType == "text/x-test")
      #expect(head.userMetadata == metadata)
    },
    Claim("the bucket answers a probe") { setting in
      try await setting.store.probe(context: setting.context)
      #expect(!setting.store.name.isEmpty)
    },
  ]
}
