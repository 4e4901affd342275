import Caching
import Core
import Simulation
import Testing

@Suite struct DraftJournalTests {
  private let version = ObjectVersion(
    key: ObjectKey([0, 0x20, 0x2C, 0xFF]),
    etag: ETag("a \"tag\", so"),
    size: 77,
    lastModified: Timestamp(nanoseconds: -5),
    versionID: "-"
  )

  private var changes: [DraftChange] {
    var facts = ObjectFacts(
      userMetadata: ["empty": "", "odd": "a,b c\n-"],
      tags: ["-": "-"],
      storageClass: "-"
    )
    facts.headers.contentType = "text/plain; charset=utf-8"
    let now = Timestamp(nanoseconds: 1_796_027_400_123_456_789)
    return [
      .began(
        DraftHead(
          key: ObjectKey("dir/a b"),
          condition: .ifMatch(ETag("-")),
          base: version,
          isTruncated: false,
          isDirty: true,
          modified: now
        )
      ),
      .wrote(ByteRange(5, 9), file: 2, at: now), .resized(0, at: now),
      .punched(ByteRange(1, 2), at: now),
      .inserted(version, at: 70, as: ByteRange(100, 107), now: now), .facts(facts, isNew: true),
      .facts(ObjectFacts(), isNew: false), .timed(now),
      .moved(ObjectKey("-"), .ifAbsent, nil), .moved(ObjectKey("x"), .none, version),
      .frozen("1f"), .published(version, of: "1f"), .refused, .discarded,
    ]
  }

  @Test func whatIsWrittenIsRead() throws {
    let journal = DraftJournal(changes)
    let parsed = try DraftJournal(parsing: Array(journal.text.utf8))
    #expect(parsed.changes == changes)
    #expect(!parsed.isTorn)
    #expect(journal.text.utf8.allSatisfy { $0 == 10 || (0x20...0x7E).contains($0) })
  }

  @Test func cutAnywhereItSaysWhatItsWholeLinesSay() throws {
    let text = Array(DraftJournal(changes).text.utf8)
    let headEnd = try #require(text.firstIndex(of: 10)) + 1
    let firstEnd = try #require(text[headEnd...].firstIndex(of: 10)) + 1
    for count in 0...text.count {
      let cut = Array(text[..<count])
      guard count >= firstEnd else {
        #expect(throws: DraftJournal.ParseError.self) { try DraftJournal(parsing: cut) }
        continue
      }
      let parsed = try DraftJournal(parsing: cut)
      let lineCount = cut.count { $0 == 10 }
      #expect(parsed.changes == Array(changes.prefix(lineCount - 1)), "cut at \(count)")
      #expect(parsed.isTorn == (cut.last != 10), "cut at \(count)")
    }
  }

  @Test func aByteThatIsNotWhatWasWrittenIsFound() throws {
    let text = Array(DraftJournal(changes).text.utf8)
    var random = Seeded(3)
    let headEnd = try #require(text.firstIndex(of: 10)) + 1
    for _ in 0..<2000 {
      var damaged = text
      let index = Int.random(in: headEnd..<text.count - 1, using: &random)
      damaged[index] ^= UInt8.random(in: 1...255, using: &random)
      #expect(throws: DraftJournal.ParseError.self, "byte \(index)") {
        let parsed = try DraftJournal(parsing: damaged)
        // A line's end in the last line only makes its rest a torn one.
        if parsed.changes == changes.dropLast() { throw DraftJournal.ParseError.damaged("torn") }
      }
    }
  }

  @Test func anotherVersionIsNotDamage() {
    #expect(throws: DraftJournal.ParseError.unknownVersion("2")) {
      try DraftJournal(parsing: Array("dipper draft 2\nwhatever\n".utf8))
    }
    #expect(throws: DraftJournal.ParseError.self) { try DraftJournal(parsing: []) }
    #expect(throws: DraftJournal.ParseError.self) {
      try DraftJournal(parsing: Array("dipper draft 1\n".utf8))
    }
  }
}
