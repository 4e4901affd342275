internal import Core

/// What this mount changed in the names of one directory, for as long as a listing may not tell it.
///
/// A listing that began before a change doesn't have it, or may not. So each change is laid over what
/// the store said, until the store has been asked later. One listing of a directory so goes on to answer
/// for all of its names, however much is made and removed in it.
struct NameChanges: Sendable {
  /// What a name is since the change.
  enum State: Sendable {
    case present(Entry)
    case absent

    /// What it leads to.
    var entry: Entry? {
      if case .present(let entry) = self { entry } else { nil }
    }
  }

  /// A change.
  struct Change: Sendable {
    /// What the name is since.
    var state: State
    /// When the store had it; nil if it doesn't yet: then it is what the name is, whatever the store
    /// says.
    var settledAt: Instant?
    /// True for a directory that was removed: some stores go on listing the prefix of one that was emptied
    /// (SeaweedFS), so that a later listing is no proof that it is there again.
    var outlivesListings = false

    /// True if it is news to an answer of the store's that was asked for at `moment`.
    func isNews(to moment: Instant) -> Bool { settledAt.map { $0 >= moment } ?? true }

    /// True if it is news to a listing that began at `moment`.
    func isNews(toListingSince moment: Instant) -> Bool { outlivesListings || isNews(to: moment) }
  }

  private var files: [[UInt8]: Change] = [:]
  private var directories: [[UInt8]: Change] = [:]

  /// The number of changes.
  var count: Int { files.count + directories.count }

  /// A name is a child since now; `settledAt` is when the store had it.
  mutating func made(_ entry: Entry, settledAt: Instant?) {
    set(
      Change(state: .present(entry), settledAt: settledAt),
      of: Array(entry.component),
      entry.kind
    )
  }

  /// A child is gone; `settledAt` is when the store had none.
  mutating func removed(_ component: [UInt8], _ kind: FileKind, settledAt: Instant?) {
    set(
      Change(state: .absent, settledAt: settledAt, outlivesListings: kind == .directory),
      of: component,
      kind
    )
  }

  /// What the store says counts again.
  mutating func forget(_ component: [UInt8], _ kind: FileKind) {
    set(nil, of: component, kind)
  }

  /// The change of a child that is news to what was asked for at `moment`.
  func state(of component: [UInt8], _ kind: FileKind, since moment: Instant) -> State? {
    change(of: component, kind).flatMap { $0.isNews(to: moment) ? $0.state : nil }
  }

  /// The change of a child that is news to a listing that began at `moment`.
  func state(
    of component: [UInt8],
    _ kind: FileKind,
    sinceListing moment: Instant
  ) -> State? {
    change(of: component, kind).flatMap { $0.isNews(toListingSince: moment) ? $0.state : nil }
  }

  /// The change of a child.
  func change(of component: [UInt8], _ kind: FileKind) -> Change? {
    kind == .directory ? directories[component] : files[component]
  }

  /// The children that were made, in byte order of their names, the directories first.
  var made: [Entry] {
    [directories, files].flatMap { changes in
      changes.sorted { $0.key.lexicographicallyPrecedes($1.key) }
        .compactMap { $0.value.state.entry }
    }
  }

  /// The directories that were removed before a listing began at `moment`.
  func removedDirectories(before moment: Instant) -> [[UInt8]] {
    directories.filter { $0.value.outlivesListings && !$0.value.isNews(to: moment) }.map(\.key)
  }

  /// Drops the changes that a listing tells, which began at `moment`; what was removed and is in it
  /// nevertheless, `doubtful`, stays removed.
  mutating func told(at moment: Instant, doubtful: [[UInt8]] = []) {
    files = files.filter { $0.value.isNews(to: moment) }
    directories = directories.filter { $0.value.isNews(to: moment) || doubtful.contains($0.key) }
  }

  /// The store was asked at `moment` whether anything is in a directory that was removed before.
  mutating func looked(into component: [UInt8], at moment: Instant, isThere: Bool) {
    guard let change = directories[component], change.outlivesListings, !change.isNews(to: moment)
    else { return }
    if isThere {
      directories[component] = nil
    } else {
      directories[component]?.settledAt = moment
    }
  }

  private mutating func set(_ change: Change?, of component: [UInt8], _ kind: FileKind) {
    if kind == .directory {
      directories[component] = change
    } else {
      files[component] = change
    }
  }
}
