import Caching
import Core
import Simulation
import Support
import Testing

/// What is learned of attributes is kept for the next mount.
@Suite struct FactsRecordTests {
  private static let log = Log(level: .error)

  private static func facts(
    _ key: String,
    _ etag: String?,
    _ metadata: [String: String]
  ) -> RecordedFacts {
    RecordedFacts(key: ObjectKey(key), etag: etag.map { ETag($0) }, userMetadata: metadata)
  }

  private static let some = [
    facts("a b\n", "1", ["mode": "41471", "x": "1,2 =%"]), facts("d/", nil, ["uid": "7"]),
    facts("q", "\"W/\"", ["m": ""]),
  ]

  private func write(
    _ facts: [RecordedFacts],
    in directory: TestDirectory,
    byteCountMax: Int = 8 << 20
  ) async {
    let (record, _) = FactsRecord.open(
      in: directory.path,
      log: Self.log,
      byteCountMax: byteCountMax
    )
    for facts in facts { record.append(facts) }
    await record.finish()
  }

  private func read(_ directory: TestDirectory) async -> [RecordedFacts] {
    let (record, facts) = FactsRecord.open(in: directory.path, log: Self.log)
    await record.finish()
    return facts
  }

  @Test func whatWasLearnedIsThereAgain() async throws {
    let directory = try TestDirectory()
    await write(Self.some, in: directory)
    #expect(await read(directory) == Self.some)
    // The newest of a key counts; what says nothing any more is forgotten.
    await write([Self.facts("a b\n", "2", ["mode": "1"])], in: directory)
    await write([Self.facts("d/", nil, [:])], in: directory)
    #expect(
      await read(directory) == [Self.some[2], Self.facts("a b\n", "2", ["mode": "1"])]
    )
  }

  @Test func whatIsDamagedIsForgottenAndTheRestIsNot() async throws {
    let directory = try TestDirectory()
    await write(Self.some, in: directory)
    let path = directory.file("facts")
    var text = try SmallFile.read(path)
    // The third line's value.
    let at = try #require(text.lastIndex(of: UInt8(ascii: "u")))
    text[at] = UInt8(ascii: "U")
    try directory.write(Array(text.dropLast(3)), to: "facts")
    #expect(await read(directory) == [Self.some[0]])
    try directory.write(Array("something else".utf8), to: "facts")
    #expect(await read(directory) == [])
    await write(Self.some, in: directory)
    #expect(await read(directory) == Self.some)
  }

  @Test func aLinkInItsPlaceIsNotFollowed() async throws {
    let (directory, other) = (try TestDirectory(), try TestDirectory())
    await write(Self.some, in: other)
    try directory.makeLink("facts", to: other.file("facts"))
    #expect(await read(directory) == [])
    #expect(await read(other) == Self.some)
  }

  @Test func itDoesNotGrowWithoutEnd() async throws {
    let directory = try TestDirectory()
    let many = (0..<2000).map { Self.facts("key\($0)", "1", ["mode": "\($0)"]) }
    await write(many, in: directory, byteCountMax: 8192)
    let size = try #require(try Disk.status(of: directory.file("facts"))).size
    #expect(size <= 8192 + 100)
    #expect(await read(directory).last == many.last)
  }
}
