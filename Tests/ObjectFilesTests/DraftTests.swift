import Core
import ObjectFiles
import Simulation
import Support
import Testing

/// A draft as a program sees it.
@Suite struct DraftTests {
  private let key = ObjectKey("dir/file")

  @Test func aNewFileIsReadAsItIsWrittenAndThenStored() async throws {
    let bench = try DraftBench()
    let draft = try bench.drafts.create(key, facts: ObjectFacts(userMetadata: ["mode": "33188"]))
    #expect(draft.isDirty)
    try draft.write("world", at: 6)
    try draft.write("hello", at: 0)
    #expect(try await draft.text() == "hello\0world")
    #expect(draft.size == 11)
    #expect(draft.dirtyByteCount == 10)

    let object = try #require(try await draft.publish().get())
    #expect(bench.store.bytes(at: key) == Array("hello\0world".utf8))
    #expect(bench.store.metadata(at: key)?.userMetadata == ["mode": "33188"])
    #expect(bench.store.metadata(at: key)?.version.etag == object.version.etag)
    #expect(bench.store.calls.map(\.operation) == [.putObject])
    #expect(bench.store.calls.first?.condition == .ifAbsent)
    #expect(!draft.isDirty)
    #expect(draft.dirtyByteCount == 0)
    #expect(try await draft.text() == "hello\0world")
    #expect(bench.store.calls.of(.getObject).isEmpty)
  }

  @Test func anEmptyFileIsStoredToo() async throws {
    let bench = try DraftBench()
    let draft = try bench.drafts.create(key)
    _ = try await draft.flush().get()
    #expect(bench.store.bytes(at: key) == [])
    #expect(bench.drafts.end(draft))
    #expect(bench.directory.names("staged") == [])
  }

  @Test func anEditKeepsWhatIsNotWritten() async throws {
    let bench = try DraftBench()
    bench.store.place(key, .text("hello world"), userMetadata: ["owner": "7"])
    let object = try #require(bench.store.metadata(at: key))
    let draft = try bench.drafts.edit(object)
    #expect(!draft.isDirty)
    #expect(try await draft.text() == "hello world")
    try draft.write("W", at: 6)
    try draft.append("!")
    try draft.resize(to: 14)
    #expect(try await draft.text() == "hello World!\0\0")
    _ = try await draft.publish().get()
    #expect(bench.store.bytes(at: key) == Array("hello World!\0\0".utf8))
    #expect(bench.store.metadata(at: key)?.userMetadata == ["owner": "7"])
    #expect(
      bench.store.calls.of(.putObject).first?.condition == object.version.etag.map { .ifMatch($0) }
    )
  }

  @Test func whatIsCutOffDoesNotComeBack() async throws {
    let bench = try DraftBench()
    let draft = try bench.drafts.create(key)
    try draft.write("secrets", at: 0)
    try draft.resize(to: 2)
    try draft.resize(to: 5)
    #expect(try await draft.text() == "se\0\0\0")
    try draft.punch(ByteRange(1, 2))
    _ = try await draft.publish().get()
    #expect(bench.store.bytes(at: key) == Array("s\0\0\0\0".utf8))
  }

  @Test func w3WhoLosesKeepsItsBytes() async throws {
    let bench = try DraftBench()
    let draft = try bench.drafts.create(key)
    try draft.write("mine", at: 0)
    bench.store.place(key, .text("theirs"))
    let outcome = await draft.publish()
    guard case .failure(let error) = outcome else {
      Issue.record("published over another's object")
      return
    }
    #expect(error.code == .exists)
    #expect(bench.store.bytes(at: key) == Array("theirs".utf8))
    #expect(bench.drafts.unsaved.map(\.key) == [key])
    #expect(try await draft.text() == "mine")
    #expect(!bench.drafts.end(draft))
    #expect(bench.observer.failures.withLock { $0 } == [error])
  }

  @Test func whatIsWrittenWhileItIsPublishedIsPublishedNext() async throws {
    let bench = try DraftBench()
    let draft = try bench.drafts.create(key)
    try draft.write("first", at: 0)
    bench.store.hook = { [key] call, moment in
      guard call.operation == .putObject, moment == .request, draft.size == 5 else { return }
      try? draft.write("F", at: 0)
      try? draft.write("ly", at: 5)
      _ = key
    }
    _ = try await draft.publish().get()
    #expect(bench.store.bytes(at: key) == Array("first".utf8))
    #expect(draft.isDirty)
    #expect(try await draft.text() == "Firstly")
    _ = try await draft.publish().get()
    #expect(bench.store.bytes(at: key) == Array("Firstly".utf8))
    #expect(!draft.isDirty)
  }

  @Test func aLargeFileGoesInParts() async throws {
    var settings = DraftBench.settings
    settings.partSize = 5 << 20
    let bench = try DraftBench(settings: settings)
    let content = SimulatedContent.words(size: 11 << 20, seed: 3).allBytes
    let draft = try bench.drafts.create(key)
    try draft.write(content, at: 0)
    let object = try #require(try await draft.publish().get())
    #expect(bench.store.bytes(at: key) == content)
    #expect(bench.store.calls.of(.uploadPart).count == 3)
    #expect(object.version.etag == bench.store.metadata(at: key)?.version.etag)
    #expect(bench.store.openUploads.isEmpty)
  }
}

extension Draft {
  fileprivate func append(_ text: String) throws(FileError) {
    try Array(text.utf8).span.bytes.withUnsafeBytes { (buffer) throws(FileError) in
      _ = try append(buffer)
    }
  }
}
