import Core
import Testing

@testable import Transfer

/// The text of a renaming (docs/checkpoint-format.md).
@Suite struct RenameJournalTests {
  private var journal: RenameJournal {
    var journal = RenameJournal(
      store: "s3://b at http://x",
      source: ObjectKey([0xff, 0x20, 0x2f]),
      target: ObjectKey("n\n/"),
      subject: .tree
    )
    _ = journal.ask([1], "e 2")
    _ = journal.insert([], RenameJournal.Copied(source: "e-1", target: ""))
    _ = journal.insert([0, 0x25, 0x20], RenameJournal.Copied(source: "5@-3", target: "a b"))
    return journal
  }

  @Test func whatIsWrittenIsReadAgain() throws {
    var journal = journal
    #expect(try RenameJournal(parsing: Array(journal.text.utf8)) == journal)
    _ = journal.undo()
    #expect(try RenameJournal(parsing: Array(journal.text.utf8)) == journal)
  }

  @Test func aTornTextLosesItsLastLineOnly() throws {
    let text = Array(journal.text.utf8)
    let headSize = Array(
      RenameJournal(
        store: journal.store,
        source: journal.source,
        target: journal.target,
        subject: .tree
      ).text.utf8
    ).count
    for count in headSize..<text.count {
      let read = try RenameJournal(parsing: Array(text[..<count]))
      #expect(read.source == journal.source)
      #expect(read.isTorn == (text[count - 1] != UInt8(ascii: "\n")))
    }
    for count in 0..<headSize {
      #expect(throws: Checkpoint.ParseError.self) {
        _ = try RenameJournal(parsing: Array(text[..<count]))
      }
    }
  }

  @Test func anotherVersionIsLeftAlone() {
    #expect(throws: Checkpoint.ParseError.unknownVersion("4")) {
      _ = try RenameJournal(parsing: Array("dipper rename 4\n".utf8))
    }
  }

  @Test func anObjectsJournalSaysWhatItWas() throws {
    for (etag, storageClass, replaced) in [
      (ETag("a b"), "COLD", "e-3"), (nil, nil, nil), (ETag("x"), nil, "5@-3"),
    ] as [(ETag?, String?, String?)] {
      let version = ObjectVersion(
        key: ObjectKey("a b"),
        etag: etag,
        size: 5 << 40,
        lastModified: Timestamp(nanoseconds: -7)
      )
      var object = RenamedObject(version, storageClass: storageClass, mayReplace: replaced != nil)
      object.replaced = replaced
      let journal = RenameJournal(
        store: "s3://b",
        source: version.key,
        target: ObjectKey("n"),
        subject: .object(object)
      )
      #expect(try RenameJournal(parsing: Array(journal.text.utf8)) == journal)
    }
  }

  @Test func anObjectsJournalSaysWhatTheCopyIsToHave() throws {
    var headers = ContentHeaders(contentType: "text/plain; charset=utf-8")
    headers.cacheControl = "no-cache"
    for facts in [
      ObjectFacts(),
      ObjectFacts(headers: headers, userMetadata: ["a b": "", "mode": "33188"], tags: ["t": "ü%"]),
    ] {
      let version = ObjectVersion(
        key: ObjectKey("f"),
        etag: ETag("x"),
        size: 1,
        lastModified: Timestamp(nanoseconds: 5)
      )
      var journal = RenameJournal(
        store: "s3://b",
        source: version.key,
        target: ObjectKey("n"),
        subject: .object(RenamedObject(version, storageClass: "COLD", facts: facts))
      )
      _ = journal.insert([], RenameJournal.Copied(source: "x", target: "y"))
      #expect(try RenameJournal(parsing: Array(journal.text.utf8)) == journal)
    }
  }

  @Test func inTheVersionBeforeACopyHadWhatTheObjectHas() throws {
    let text = "dipper rename 2\nstore s3://b\nsource a\ntarget b\nobject x 1 5 % % replaces\n"
    let journal = try RenameJournal(parsing: Array(text.utf8))
    guard case .object(let object) = journal.subject else {
      Issue.record("it is \(journal.subject)")
      return
    }
    #expect(object.facts == nil && object.version.etag == ETag("x") && object.mayReplace)
  }

  @Test func theFirstVersionKnewTreesOnly() throws {
    let text = "dipper rename 1\nstore s3://b\nsource a/\ntarget b/\ncopied x 1 2\n"
    let journal = try RenameJournal(parsing: Array(text.utf8))
    #expect(journal.subject == .tree && journal.source == ObjectKey("a/"))
    #expect(journal.copied[Array("x".utf8)] == RenameJournal.Copied(source: "1", target: "2"))
  }
}
