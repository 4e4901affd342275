import Core
import Testing

@testable import Filesystem

/// What lies over a listing, and for how long.
@Suite struct NameChangesTests {
  private let prefix = ObjectKey("d/")

  private func entry(_ name: String, _ kind: FileKind, at moment: Int64 = 0) throws -> Entry {
    let component = Array(name.utf8)[...]
    let instant = Instant(nanoseconds: moment)
    if kind == .directory {
      return ListingPage.single(directory: component, in: prefix, requestedAt: instant)
    }
    let version = ObjectVersion(
      key: ObjectKey("d/\(name)"),
      etag: nil,
      size: 1,
      lastModified: Timestamp(nanoseconds: 0)
    )
    return try #require(
      ListingPage.single(
        ObjectMetadata(version: version),
        component: component,
        in: prefix,
        requestedAt: instant,
        isPlainlyNamed: true
      )
    )
  }

  private func at(_ moment: Int64) -> Instant { Instant(nanoseconds: moment) }

  @Test func aChangeIsNewsToWhatWasAskedForBeforeTheStoreHadIt() throws {
    var changes = NameChanges()
    changes.removed(Array("f".utf8), .file, settledAt: at(5))
    let known = changes.state(of: Array("f".utf8), .file, since: at(5))
    #expect(known != nil && known?.entry == nil)
    #expect(changes.state(of: Array("f".utf8), .file, since: at(6)) == nil)
    #expect(changes.state(of: Array("f".utf8), .directory, since: at(1)) == nil)
  }

  @Test func whatTheStoreDoesNotHaveYetIsNewsToEverything() throws {
    var changes = NameChanges()
    changes.made(try entry("f", .file), settledAt: nil)
    #expect(changes.state(of: Array("f".utf8), .file, since: at(.max))?.entry != nil)
    changes.told(at: at(.max))
    #expect(changes.count == 1)
    changes.made(try entry("f", .file), settledAt: at(7))
    changes.told(at: at(7))
    #expect(changes.count == 1)
    changes.told(at: at(8))
    #expect(changes.count == 0)
  }

  @Test func aRemovedDirectoryIsBelievedThereOnlyByWhoLookedIntoIt() throws {
    let name = Array("d".utf8)
    var changes = NameChanges()
    changes.removed(name, .directory, settledAt: at(5))
    #expect(changes.removedDirectories(before: at(5)).isEmpty)
    #expect(changes.removedDirectories(before: at(6)) == [name])
    // A listing that has it is no proof; an answer about itself is.
    changes.told(at: at(6), doubtful: [name])
    #expect(changes.state(of: name, .directory, sinceListing: at(9)) != nil)
    #expect(changes.state(of: name, .directory, since: at(9)) == nil)
    changes.looked(into: name, at: at(10), isThere: false)
    #expect(changes.state(of: name, .directory, since: at(10)) != nil)
    // An older look says nothing; a later one counts.
    changes.looked(into: name, at: at(9), isThere: true)
    #expect(changes.count == 1)
    changes.looked(into: name, at: at(11), isThere: true)
    #expect(changes.count == 0)
    // A listing without it ends the matter.
    changes.removed(name, .directory, settledAt: at(12))
    changes.told(at: at(13))
    #expect(changes.count == 0)
  }

  @Test func whatWasMadeIsListedByName() throws {
    var changes = NameChanges()
    for name in ["b", "c", "a"] { changes.made(try entry(name, .file), settledAt: nil) }
    changes.made(try entry("z", .directory), settledAt: nil)
    changes.removed(Array("c".utf8), .file, settledAt: at(1))
    #expect(changes.made.map { String(decoding: $0.component, as: UTF8.self) } == ["z", "a", "b"])
  }

  /// What a name leads to, by two changes and no listing.
  private func sighting(
    _ file: NameChanges.State?,
    _ directory: NameChanges.State?,
    isShadowed: Bool = false,
    settledAt: Int64? = 0,
    now: Int64 = 1
  ) -> String {
    func change(_ state: NameChanges.State?) -> NameChanges.Change? {
      state.map { NameChanges.Change(state: $0, settledAt: settledAt.map { at($0) }) }
    }
    let changes = ChildChanges(file: change(file), directory: change(directory))
    let child = NameCodec.Child(component: Array("f".utf8), isShadowedObject: isShadowed)
    switch changes.sighting(of: child, over: nil, at: at(now), believedFor: .nanoseconds(10)) {
    case .found(let entry, _): return entry.kind == .directory ? "directory" : "file"
    case .absent: return "absent"
    case nil: return "unknown"
    }
  }

  @Test func aDirectoryTakesTheNameOfAnObject() throws {
    let file = NameChanges.State.present(try entry("f", .file))
    let directory = NameChanges.State.present(try entry("f", .directory))
    #expect(sighting(file, directory) == "directory")
    #expect(sighting(file, directory, isShadowed: true) == "file")
    #expect(sighting(file, .absent) == "file")
    #expect(sighting(file, .absent, isShadowed: true) == "absent")
    // The name that was made or removed was an object's, so there was no directory of it.
    #expect(sighting(file, nil) == "file")
    #expect(sighting(.absent, nil) == "absent")
    // What a removed directory had hidden must be asked for.
    #expect(sighting(nil, .absent) == "unknown")
    #expect(sighting(.absent, .absent) == "absent")
  }

  @Test func withoutAListingAChangeCountsForTheTimeToLive() throws {
    let file = NameChanges.State.present(try entry("f", .file))
    #expect(sighting(file, nil, now: 9) == "file")
    #expect(sighting(file, nil, now: 10) == "unknown")
    #expect(sighting(file, nil, settledAt: nil, now: 1000) == "file")
  }
}
