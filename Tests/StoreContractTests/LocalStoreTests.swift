import Core
import Glibc
import LocalStore
import Simulation
import Support
import Testing

/// What the local store does beyond the contract: keys and files, and others in the directory.
@Suite struct LocalStoreTests {
  private let scratch: TestDirectory
  private let store: LocalStore
  private let context = RequestContext(deadline: SystemClock().now + .seconds(60))

  init() throws {
    scratch = try TestDirectory()
    try scratch.makeDirectory("bucket")
    store = LocalStore(directory: scratch.path + "/bucket")
  }

  private func put(_ key: String, _ text: String = "content") async throws -> ObjectMetadata {
    let request = PutRequest(key: ObjectKey(key))
    return try await store.put(request, body: .bytes(Array(text.utf8)), context: context)
  }

  private func head(_ key: String) async throws -> ObjectMetadata {
    try await store.head(ObjectKey(key), versionID: nil, ifMatch: nil, context: context)
  }

  private func keys(prefix: String = "") async throws -> [String] {
    let request = ListRequest(prefix: ObjectKey(prefix), isDelimited: false)
    return try await store.list(request, context: context).objects.map(\.key.description)
  }

  private func failure(_ body: () async throws -> Void) async -> StoreError? {
    do {
      try await body()
      return nil
    } catch {
      return error as? StoreError
    }
  }

  @Test func objectsAreTheFilesBelowTheDirectory() async throws {
    try scratch.makeDirectory("bucket/made")
    try scratch.write(Array("by hand".utf8), to: "bucket/made/elsewhere")
    _ = try await put("dir/by store", "bytes")
    #expect(try await keys() == ["dir/by store", "made/elsewhere"])
    #expect(try scratch.bytes(of: "bucket/dir/by store") == Array("bytes".utf8))
    #expect(try await head("made/elsewhere").size == 7)
  }

  @Test(
    arguments: [
      ("", "empty"), ("/etc/passwd", "empty"), ("a//b", "empty"), ("../outside", "\"..\""),
      ("a/../../outside", "\"..\""), ("./a", "\".\""), ("a/./b", "\".\""), ("..", "\"..\""),
      ("nul\0byte", "NUL"), (".dipper-local/lock", "store's own"), (".dipper-local", "store's own"),
      (String(repeating: "n", count: 256), "255"), (String(repeating: "n/", count: 600), "1024"),
    ]
  )
  func aKeyThatADirectoryCannotHoldIsRefusedByPutAndNeverFound(
    _ key: String,
    _ reason: String
  ) async throws {
    try scratch.write([1], to: "outside")
    let refusal = await failure { _ = try await put(key) }
    #expect(refusal?.kind == .invalidRequest)
    #expect(refusal?.message.contains(reason) == true, "\(refusal?.message ?? "")")
    #expect(await failure { _ = try await head(key) }?.kind == .notFound)
    let request = GetRequest(key: ObjectKey(key), range: ByteRange(0, 1), ifMatch: nil)
    let sink = CollectingSink()
    let read = await failure { _ = try await store.get(request, into: sink, context: context) }
    #expect(read?.kind == .notFound)
    try await store.delete(ObjectKey(key), ifMatch: nil, context: context)
    #expect(try scratch.bytes(of: "outside") == [1])
    let upload = await failure {
      let request = PutRequest(key: ObjectKey(key))
      _ = try await store.createMultipartUpload(request, context: context)
    }
    #expect(upload?.kind == .invalidRequest)
  }

  @Test func aListingBelowAKeyThatCannotBeIsEmpty() async throws {
    try scratch.write([1], to: "outside")
    _ = try await put("a")
    for prefix in ["../", "/", "a/../", ".dipper-local/", "./", "//", "x\0/"] {
      #expect(try await keys(prefix: prefix) == [], "\(prefix.debugDescription)")
    }
  }

  @Test func symbolicLinksAreNoObjectsAndLeadNowhere() async throws {
    try scratch.makeDirectory("outside")
    try scratch.write([1, 2, 3], to: "outside/secret")
    try scratch.makeLink("bucket/directory", to: "../outside")
    try scratch.makeLink("bucket/file", to: "../outside/secret")
    try scratch.makeLink("bucket/absolute", to: scratch.path + "/outside/secret")
    _ = try await put("inside", "own")
    try scratch.makeLink("bucket/alias", to: "inside")
    #expect(try await keys() == ["inside"])
    let keys = ["directory/secret", "file", "absolute", "alias", "directory/"]
    for key in keys {
      #expect(await failure { _ = try await head(key) }?.kind == .notFound, "\(key)")
    }
    for key in ["directory/new", "file", "absolute", "alias"] {
      #expect(await failure { _ = try await put(key) }?.kind == .invalidRequest, "\(key)")
      try await store.delete(ObjectKey(key), ifMatch: nil, context: context)
    }
    #expect(try scratch.bytes(of: "outside/secret") == [1, 2, 3])
    #expect(scratch.names("outside") == ["secret"])
    #expect(try scratch.bytes(of: "bucket/inside") == Array("own".utf8))
    #expect(scratch.exists("bucket/alias"))
  }

  @Test func aPipeIsNoObjectAndHoldsNobodyUp() async throws {
    mkfifo(scratch.path + "/bucket/pipe", 0o600)
    #expect(try await keys() == [])
    #expect(await failure { _ = try await head("pipe") }?.kind == .notFound)
    #expect(await failure { _ = try await put("pipe") }?.kind == .invalidRequest)
  }

  @Test func aKeyBesideItsPrefixIsRefusedWithTheReason() async throws {
    _ = try await put("a")
    let below = await failure { _ = try await put("a/b") }
    #expect(below?.kind == .invalidRequest)
    #expect(below?.message.contains("\"a\" on the way to it is no directory") == true)
    _ = try await put("d/e")
    let above = await failure { _ = try await put("d") }
    #expect(above?.kind == .invalidRequest)
    #expect(above?.message.contains("directory of other keys") == true)
    #expect(try await keys() == ["a", "d/e"])
  }

  @Test func anEmptyDirectoryIsAMarkerAndSurvives() async throws {
    try scratch.makeDirectory("bucket/empty")
    #expect(try await keys() == ["empty/"])
    #expect(try await head("empty/").size == 0)
    // Once it has objects it is still an object itself, because it was one before.
    _ = try await put("empty/x/y")
    #expect(try await keys() == ["empty/", "empty/x/y"])
    try await store.delete(ObjectKey("empty/x/y"), ifMatch: nil, context: context)
    #expect(try await keys() == ["empty/"])
    try await store.delete(ObjectKey("empty/"), ifMatch: nil, context: context)
    #expect(try await keys() == [])
    #expect(!scratch.exists("bucket/empty"))
  }

  @Test func directoriesOfKeysGoWithTheLastOfThem() async throws {
    _ = try await put("a/b/c/d")
    _ = try await put("a/e")
    try await store.delete(ObjectKey("a/b/c/d"), ifMatch: nil, context: context)
    #expect(scratch.names("bucket/a") == ["e"])
    try await store.delete(ObjectKey("a/e"), ifMatch: nil, context: context)
    #expect(scratch.names("bucket") == [".dipper-local"])
  }

  @Test func aFailedConditionLeavesNoDirectories() async throws {
    let request = PutRequest(key: ObjectKey("a/b/c"), condition: .ifMatch(ETag("none")))
    let kind = await failure {
      _ = try await store.put(request, body: .empty, context: context)
    }?.kind
    #expect(kind == .notFound)
    #expect(scratch.names("bucket") == [".dipper-local"])
    #expect(scratch.names("bucket/.dipper-local/temporary") == [])
  }

  @Test func aReplacedFileKeepsItsPermissions() async throws {
    let file = try scratch.write([1], to: "bucket/private")
    fchmod(file.number, 0o640)
    _ = try await put("private", "new")
    var status = stat()
    #expect(stat(scratch.path + "/bucket/private", &status) == 0)
    #expect(status.st_mode & 0o777 == 0o640)
    #expect(try scratch.bytes(of: "bucket/private") == Array("new".utf8))
  }

  @Test func everyPutHasATagOfItsOwn() async throws {
    // Without waiting for the disk, so that several come within one tick of the kernel's clock.
    let fast = LocalStore(directory: scratch.path + "/bucket", synchronizes: false)
    var tags: Set<ETag?> = []
    for _ in 0..<200 {
      let request = PutRequest(key: ObjectKey("same"))
      tags.insert(try await fast.put(request, body: .bytes([1]), context: context).version.etag)
    }
    #expect(tags.count == 200)
  }

  @Test func anyChangeOfTheFileChangesTheTag() async throws {
    let path = scratch.path + "/bucket/file"
    let file = try scratch.write(Array("aaaa".utf8), to: "bucket/file")
    var tags = [try await head("file").version.etag]
    // Each change comes in a tick of the kernel's clock of its own; older kernels stamp no finer.
    func note(_ change: () throws -> Void) async throws {
      Pause.untilNextTick()
      try change()
      tags.append(try await head("file").version.etag)
    }
    try await note { try Array("bbbb".utf8).withUnsafeBytes { try file.write($0, at: 0) } }
    try await note { try file.truncate(to: 3) }
    // The content's time set back, as programs that restore files do.
    try await note {
      let times = [timespec(tv_sec: 1000, tv_nsec: 0), timespec(tv_sec: 1000, tv_nsec: 0)]
      futimens(file.number, times)
    }
    try await note {
      try scratch.write(Array("ccc".utf8), to: "bucket/new")
      rename(scratch.path + "/bucket/new", path)
    }
    #expect(Set(tags).count == tags.count)
  }

  @Test func aProbeSaysWhatIsWrongWithTheDirectory() async throws {
    try scratch.write([], to: "file")
    for (path, word) in [("missing", "does not exist"), ("file", "not a directory")] {
      let store = LocalStore(directory: scratch.path + "/" + path)
      let error = await failure { try await store.probe(context: context) }
      #expect(error?.kind == .noSuchBucket)
      #expect(error?.message.contains(word) == true)
      #expect(error?.message.contains(scratch.path) == true)
    }
    // Root may read everything.
    if geteuid() != 0 {
      try scratch.makeDirectory("closed")
      chmod(scratch.path + "/closed", 0)
      let closed = LocalStore(directory: scratch.path + "/closed")
      #expect(await failure { try await closed.probe(context: context) }?.kind == .accessDenied)
    }
    try await store.probe(context: context)
    #expect(scratch.names("bucket") == [], "reading makes nothing")
  }

  @Test func whatAKilledProcessLeftIsClearedAndWhatIsBeingWrittenIsNot() async throws {
    _ = try await put("first")
    let temporary = "bucket/.dipper-local/temporary"
    try scratch.write([1, 2, 3], to: temporary + "/torn")
    try scratch.makeDirectory(temporary + "/discarded")
    try scratch.write([1], to: temporary + "/discarded/part-1")
    let busy = try scratch.write([1], to: temporary + "/busy")
    #expect(try busy.tryLock())
    let next = LocalStore(directory: scratch.path + "/bucket")
    let request = PutRequest(key: ObjectKey("second"))
    _ = try await next.put(request, body: .bytes([1]), context: context)
    #expect(scratch.names(temporary) == ["busy"])
    withExtendedLifetime(busy) {}
  }

  @Test func aMarkerCannotHoldBytes() async throws {
    let request = PutRequest(key: ObjectKey("dir/"))
    let error = await failure {
      _ = try await store.put(request, body: .bytes([1]), context: context)
    }
    #expect(error?.kind == .invalidRequest)
    let upload = await failure {
      _ = try await store.createMultipartUpload(request, context: context)
    }
    #expect(upload?.kind == .invalidRequest)
  }

  @Test func uploadsSurviveTheStoreAndAnInventedIDIsNone() async throws {
    let key = ObjectKey("a/b")
    let request = PutRequest(key: key, contentType: "text/x", userMetadata: ["n": "v w"])
    let id = try await store.createMultipartUpload(request, context: context)
    let upload = UploadReference(key: key, uploadID: id)
    let body = BodySource.bytes([1, 2, 3])
    let part = try await store.uploadPart(upload, partNumber: 1, body: body, context: context)
    let next = LocalStore(directory: scratch.path + "/bucket")
    for id in ["", "../temporary", String(repeating: "0", count: 32), id + "/"] {
      let wrong = UploadReference(key: key, uploadID: id)
      let error = await failure { _ = try await next.listParts(wrong, context: context) }
      #expect(error?.kind == .noSuchUpload, "\(id)")
    }
    let other = UploadReference(key: ObjectKey("other"), uploadID: id)
    let error = await failure { _ = try await next.listParts(other, context: context) }
    #expect(error?.kind == .noSuchUpload)
    #expect(try await keys() == [])
    let parts = try await next.listParts(upload, context: context)
    #expect(parts == [UploadedPart(partNumber: 1, etag: part.etag, size: 3)])
    _ = try await next.completeMultipartUpload(
      upload,
      parts: parts,
      condition: .ifAbsent,
      context: context
    )
    let metadata = try await head("a/b")
    #expect(metadata.headers.contentType == "text/x")
    #expect(metadata.userMetadata == ["n": "v w"])
    #expect(scratch.names("bucket/.dipper-local/uploads") == [])
    #expect(scratch.names("bucket/.dipper-local/temporary") == [])
  }
}
