import Core
import Simulation
import Testing

@testable import Transfer

@Suite struct UploadCheckpointTests {
  private var checkpoint: UploadCheckpoint {
    let version = ObjectVersion(
      key: ObjectKey("a b/\u{E9}"),
      etag: ETag("tag"),
      size: 300,
      lastModified: Timestamp(seconds: 1_796_027_400),
      versionID: "v 1"
    )
    let reference = UploadReference(key: ObjectKey([0xFF, 0x0A]), uploadID: "id/+=\n%")
    var checkpoint = UploadCheckpoint(
      identity: CheckpointIdentity(
        store: "s3://one",
        version: version,
        task: ["kind": "copy", "part-size": "100"]
      ),
      upload: UploadTarget(store: "s3://two", reference: reference)
    )
    checkpoint.insert(
      UploadedPart(partNumber: 2, etag: ETag("W/\"weak one\""), size: 100, crc64: 0xAB)
    )
    checkpoint.insert(UploadedPart(partNumber: 1, etag: ETag("9b2c")))
    return checkpoint
  }

  @Test func theTextIsAsDocumented() {
    #expect(
      checkpoint.text == """
        dipper checkpoint 1
        store s3://one
        key a%20b/%C3%A9
        etag tag
        size 300
        last-modified 1796027400000000000
        version-id v%201
        target-store s3://two
        target-key %FF%0A
        upload-id id/+=%0A%25
        task.kind copy
        task.part-size 100
        parts
        1 - 9b2c -
        2 100 W/%22weak%20one%22 00000000000000ab

        """
    )
  }

  @Test func whatIsWrittenIsRead() throws {
    #expect(try UploadCheckpoint(parsing: Array(checkpoint.text.utf8)) == checkpoint)
  }

  @Test func aTornLineIsIgnoredAndNonsenseIsPassedOver() throws {
    let text = checkpoint.text
    let nonsense = ["", "x", "1 2", "0 1 t -", "10001 1 t -", "3 -1 t -", "3 1  -", "3 1 t xyz"]
    let more = nonsense.map { $0 + "\n" }.joined() + "3 100 tag3 -\n4 100 tag4"
    let read = try UploadCheckpoint(parsing: Array((text + more).utf8))
    #expect(read.parts.keys.sorted() == [1, 2, 3] && read.isTorn)
  }

  @Test func ofTwoLinesForOnePartTheLaterCounts() throws {
    let text = checkpoint.text + "1 100 later -\n"
    let read = try UploadCheckpoint(parsing: Array(text.utf8))
    #expect(read.parts[1]?.etag == ETag("later"))
  }

  @Test func aHeadWithoutItsUploadIsDamaged() {
    for field in ["target-store", "target-key", "upload-id"] {
      let lines = checkpoint.text.split(separator: "\n", omittingEmptySubsequences: false)
      let text = lines.filter { !$0.hasPrefix(field) }.joined(separator: "\n")
      #expect(throws: Checkpoint.ParseError.self) {
        _ = try UploadCheckpoint(parsing: Array(text.utf8))
      }
    }
  }

  @Test func oneKindIsNotReadAsTheOther() throws {
    let download = Checkpoint(
      identity: CheckpointIdentity(store: "s", version: checkpoint.identity.version)
    )
    #expect(throws: Checkpoint.ParseError.otherKind("download")) {
      _ = try UploadCheckpoint(parsing: Array(download.text.utf8))
    }
    #expect(throws: Checkpoint.ParseError.otherKind("copy")) {
      _ = try Checkpoint(parsing: Array(checkpoint.text.utf8), dataSize: 1000)
    }
  }

  @Test(arguments: 0..<200) func damageIsNoticedOrHarmless(seed: UInt64) throws {
    var random = Seeded(seed)
    var text = Array(checkpoint.text.utf8)
    for _ in 0..<Int.random(in: 1...5, using: &random) {
      switch Int.random(in: 0...2, using: &random) {
      case 0:
        text[Int.random(in: 0..<text.count, using: &random)] = .random(in: 0...255, using: &random)
      case 1: text.remove(at: Int.random(in: 0..<text.count, using: &random))
      default:
        text.insert(
          .random(in: 0...255, using: &random),
          at: Int.random(in: 0...text.count, using: &random)
        )
      }
    }
    guard let read = try? UploadCheckpoint(parsing: text) else { return }
    #expect(
      read.parts.allSatisfy { (1...10_000).contains($0.key) && $0.key == $0.value.partNumber }
    )
    // What was read can be written and read again.
    #expect(try UploadCheckpoint(parsing: Array(read.text.utf8)).parts == read.parts)
  }
}
