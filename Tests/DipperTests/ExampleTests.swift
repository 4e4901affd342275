import Core
import Dipper
import Simulation
import Support
import Testing

/// The examples of the library's pages do what the pages say; TidyTests compares the texts.
@Suite struct ExampleTests {
  private static let size = 41 << 20

  private func bench(_ key: Bucket.Key, isVirtual: Bool) throws -> LibraryBench {
    let bench = try LibraryBench(size: Self.size, isVirtual: isVirtual)
    bench.store.place(key.objectKey, bench.content)
    return bench
  }

  /// A pipe that brings these bytes and then ends.
  private static func filledPipe(_ bytes: [UInt8]) throws -> FileDescriptor {
    let pipe = try Pipe()
    try pipe.writeEnd.write(bytes)
    return pipe.readEnd
  }

  @Test func aBucketIsOpenedWithKeysOfTheProgramsOwn() async throws {
    let bucket = try await OpeningExamples(applicationDirectory: "").open()
    #expect(bucket.url.bucketName == "tos://bucket-name")
  }

  @Test func aCheckpointsDirectoryIsMade() throws {
    let directory = try TestDirectory()
    let examples = OpeningExamples(applicationDirectory: directory.path)
    #expect(try examples.checkpointPath("a.json") == directory.file("Checkpoints/a.json"))
    #expect(try examples.checkpointPath("b.json") == directory.file("Checkpoints/b.json"))
    #expect(directory.names() == ["Checkpoints"])
  }

  @Test func aDownloadIsShownPausedResumedAndGivenUp() async throws {
    let bench = try bench("example/large-file.bin", isVirtual: false)
    let examples = DownloadingExamples()
    let checkpoint = bench.directory.file("checkpoint")
    let (bucket, path) = (bench.bucket, bench.target)
    let lines = try await examples.download(bucket: bucket, path: path, checkpoint: checkpoint)
    #expect(lines.contains("100 %"))
    #expect(lines.last == "downloaded \(Self.size) bytes to \(path)")
    #expect(try bench.isWhole("target"))

    try Disk.removeFile(path)
    bench.store.forgetCalls()
    bench.faults.add(Fault(.hang(), operation: .getObject, callNumber: 3))
    let object = try await examples.pause(bucket: bucket, path: path, checkpoint: checkpoint)
    #expect(try bench.isWhole("target") && object.size == Self.size)
    #expect(bench.store.calls.receivedByteCount < 2 * Self.size, "nothing was kept")

    try Disk.removeFile(path)
    bench.hang(.headObject, from: 1)
    try await examples.abort(bucket: bucket, path: path, checkpoint: checkpoint)
    #expect(bench.names == [])
  }

  @Test func copiesArePlainByHandAndResumable() async throws {
    let bench = try bench("src-object-name", isVirtual: true)
    bench.store.place(ObjectKey("example/source-large-file.bin"), bench.content)
    let examples = CopyingExamples()
    let checkpoint = bench.directory.file("checkpoint")
    let (bucket, source) = (bench.other, bench.bucket)
    let target = bench.otherStore

    try await examples.copyPlainly(bucket: bucket, sourceBucket: source)
    #expect(target.content(at: ObjectKey("object-name"))?.size == Self.size)
    #expect(target.metadata(at: ObjectKey("object-name"))?.userMetadata?.count == 1)

    target.remove(ObjectKey("object-name"))
    try await examples.copyByHand(bucket: bucket, sourceBucket: source, size: Self.size)
    #expect(target.content(at: ObjectKey("object-name"))?.size == Self.size)

    let lines = try await examples.copy(
      bucket: bucket,
      sourceBucket: source,
      checkpoint: checkpoint
    )
    #expect(lines.dropLast().sorted() == (1...3).map { "part \($0) copied" })
    #expect(lines.last?.hasPrefix("copied, ETag: v") == true)

    target.forgetCalls()
    bench.faults.add(Fault(.hang(), operation: .uploadPartCopy, callNumber: 3))
    try await examples.pause(bucket: bucket, sourceBucket: source, checkpoint: checkpoint)
    #expect(target.content(at: ObjectKey("copied"))?.size == Self.size)
    #expect(target.calls.of(.createMultipartUpload).count == 1)

    target.remove(ObjectKey("copied"))
    bench.hang(.uploadPartCopy, from: 1)
    try await examples.abort(bucket: bucket, sourceBucket: source, checkpoint: checkpoint)
    #expect(bench.names == [] && target.openUploads == [])
    #expect(target.metadata(at: ObjectKey("copied")) == nil)
  }

  @Test func uploadsComeFromFilesAndPipes() async throws {
    let bench = try LibraryBench(size: 2 * LibraryBench.partSize)
    let examples = UploadingExamples()
    let object = try await examples.upload(
      bucket: bench.bucket,
      path: try bench.file(),
      checkpoint: bench.directory.file("checkpoint")
    )
    #expect(object.size == bench.content.size && bench.isWhole("films/a.mp4", in: bench.store))
    #expect(bench.store.metadata(at: ObjectKey("films/a.mp4"))?.headers.contentType == "video/mp4")

    let text = Array("a line\n".utf8)
    let input = try Self.filledPipe(text)
    let sent = try await examples.uploadStream(bucket: bench.bucket, descriptor: input.number)
    #expect(sent.size == text.count)
    #expect(bench.store.bytes(at: ObjectKey("logs/today.txt")) == text)
    withExtendedLifetime(input) {}
  }
}
