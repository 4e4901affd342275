package import Core
internal import ObjectFiles
internal import Support

/// An open directory: it reads one listing from beginning to end, however often it is rewound.
final class OpenDirectory: Sendable {
  let directory: Directory
  let hold: DirectoryListing.Hold
  private let state: Lock<ListedChanges?>

  init(_ directory: Directory, _ hold: DirectoryListing.Hold) {
    self.directory = directory
    self.hold = hold
    state = Lock(nil)
  }

  var listing: DirectoryListing { hold.listing }

  /// What was changed in the directory when it was opened, or rewound for the last time; nil if nothing was.
  var changes: ListedChanges? {
    get { state.withLock { $0 } }
    set { state.withLock { $0 = newValue } }
  }
}

extension MountedBucket {
  package func openDirectory(_ node: NodeID, reply: consuming Reply<OpenAnswer>) {
    let directory: Directory
    switch enter(node) {
    case .failure(let error):
      reply.fail(error)
      return
    case .success(let entered):
      directory = entered
    }
    let now = time.now
    guard let hold = outageListing(of: directory, at: now) ?? holdListing(of: directory, at: now)
    else {
      reply.fail(Self.unknownNode)
      return
    }
    let handle = addHandle(.directory(OpenDirectory(directory, hold)))
    if !reply.succeed(OpenAnswer(handle: handle)) { closeDirectory(handle) }
  }

  package func readDirectory(
    _ handle: HandleID,
    offset: Int,
    withAttributes: Bool,
    reply: consuming Reply<DirectoryAnswer>
  ) {
    guard case .directory(let open) = tables.withLock({ $0.handles[handle] }), offset >= 0 else {
      reply.fail(Self.unknownHandle)
      return
    }
    if offset == 0 {
      open.changes = ListedChanges(tables.withLock { $0.changes[open.directory.prefix] })
    }
    let cursor = DirectoryCursor(bucket: self, open: open, offset: offset)
    let operation = FailureReporter.Operation(
      name: "readdir",
      path: path(of: open.directory.prefix),
      node: open.directory.node
    )
    switch cursor.readiness {
    case .ready:
      let entries = withAttributes ? cursor.entriesLackingFacts : []
      guard !entries.isEmpty else {
        reply.succeed(DirectoryAnswer(source: cursor))
        return
      }
      let budget = budget(for: open.directory.prefix, at: time.now)
      guard let waiting = park(reply, operation, budget) else { return }
      askFacts(of: entries, cursor, waiting, budget)
    case .failed(let error):
      reporter.report(error, operation)
      reply.fail(error)
    case .waiting(let row):
      let budget = budget(for: open.directory.prefix, at: time.now)
      guard let waiting = park(reply, operation, budget) else { return }
      wait(for: row, withAttributes, cursor, waiting, budget)
    }
  }

  /// Answers when the next entries are known as they are to be shown.
  private func askFacts(
    of entries: [Entry],
    _ cursor: DirectoryCursor,
    _ waiting: WaitingReply<DirectoryAnswer>,
    _ budget: PatienceLedger.Budget
  ) {
    _ = startControlTask { [self] in
      await askFacts(of: entries, by: budget.deadline)
      waiting.succeed(DirectoryAnswer(source: cursor.limitedToAsked))
    }
  }

  private func wait(
    for row: Int,
    _ withAttributes: Bool,
    _ cursor: DirectoryCursor,
    _ waiting: WaitingReply<DirectoryAnswer>,
    _ budget: PatienceLedger.Budget
  ) {
    let listing = cursor.listing
    let ticket = listing.whenReached(row) { [self] in
      switch cursor.readiness {
      case .ready:
        waited(budget)
        let entries = withAttributes ? cursor.entriesLackingFacts : []
        if entries.isEmpty {
          waiting.succeed(DirectoryAnswer(source: cursor))
        } else {
          askFacts(of: entries, cursor, waiting, budget)
        }
      case .failed(let error): waiting.fail(error)
      case .waiting(let row): wait(for: row, withAttributes, cursor, waiting, budget)
      }
    }
    if let ticket { waiting.whenGivenUp { listing.leave(ticket) } }
  }

  package func releaseDirectory(_ handle: HandleID, reply: consuming Reply<EmptyAnswer>) {
    closeDirectory(handle)
    reply.succeed(EmptyAnswer())
  }

  private func closeDirectory(_ handle: HandleID) {
    // It goes outside of the lock, for its hold may be the last.
    _ = tables.withLock { $0.handles.removeValue(forKey: handle) }
  }

  private func enter(_ node: NodeID) -> Result<Directory, FileError> {
    tables.withLock { tables in
      if let directory = tables.inodes.directory(node) { return .success(directory) }
      guard tables.inodes.node(node) != nil else { return .failure(Self.unknownNode) }
      return .failure(FileError(.notDirectory, "this is a file, not a directory"))
    }
  }

  /// What was known of a directory, while the store is out of reach.
  private func outageListing(of directory: Directory, at now: Instant) -> DirectoryListing.Hold? {
    guard isInOutage(at: now), let listing = directory.lastComplete,
      let completedAt = listing.completedAt, completedAt >= now - options.staleMax
    else { return nil }
    return listing.hold()
  }
}

/// Reads an open directory from a position: `.` is at 0, `..` at 1, the listing's first row at 2.
struct DirectoryCursor: DirectorySource {
  /// Whether there is anything to answer.
  enum Readiness {
    /// Entries, or the end.
    case ready
    /// The listing broke off here.
    case failed(FileError)
    /// This row of the listing is still to come.
    case waiting(row: Int)
  }

  private struct Row {
    let position: Int
    let entry: Entry
    let name: FileName
    let isShadowed: Bool
  }

  private static let rowOffset = 2

  private let bucket: MountedBucket
  private let open: OpenDirectory
  private let changes: ListedChanges?
  private var offset: Int
  /// Where it ends, although there may be more.
  private var end = Int.max

  init(bucket: MountedBucket, open: OpenDirectory, offset: Int) {
    self.bucket = bucket
    self.open = open
    changes = open.changes
    self.offset = offset
  }

  /// What it reads.
  var listing: DirectoryListing { open.listing }

  /// Whether there is anything to answer now.
  ///
  /// `.` and `..` wait for the first row too, so that a directory that can't be listed fails at once.
  var readiness: Readiness {
    let row = max(offset - Self.rowOffset, 0)
    // Looked at first: what arrives in between is found by the search below.
    let (status, count) = (listing.status, listing.count)
    if nextRow(from: row) != nil { return .ready }
    switch status {
    case .running: return .waiting(row: max(row, count))
    case .complete: return .ready
    case .failed(let error): return .failed(error)
    }
  }

  func peek() -> DirectoryEntry? {
    let directory = open.directory
    if offset == 0 { return dots(".", directory.inodeNumber) }
    if offset == 1 { return dots("..", directory.parentInodeNumber) }
    guard offset < end, let row = nextRow(from: offset - Self.rowOffset) else { return nil }
    if row.isShadowed { bucket.noteShadowed(row.entry) }
    return DirectoryEntry(
      name: row.name,
      inodeNumber: InodeNumber.of(
        row.entry.component,
        kind: row.entry.kind,
        in: directory.childNumbers
      ),
      kind: bucket.isLink(row.entry) ?? false ? .symbolicLink : row.entry.kind,
      nextOffset: row.position + Self.rowOffset + 1
    )
  }

  mutating func take(withAttributes: Bool) -> EntryAnswer? {
    guard offset >= Self.rowOffset else {
      offset += 1
      return nil
    }
    guard let row = nextRow(from: offset - Self.rowOffset) else { return nil }
    offset = row.position + Self.rowOffset + 1
    guard withAttributes, bucket.isThere(row.entry),
      !bucket.lacksFacts(row.entry, at: bucket.time.now)
    else { return nil }
    let timeToLive = bucket.timeToLive
    let until =
      open.listing.believedUntil(timeToLive) ?? row.entry.page.requestedAt + timeToLive
    return bucket.answer(
      .found(row.entry, until: until),
      in: open.directory,
      at: bucket.time.now
    )
  }

  /// So many entries are asked for before they are shown; about as many fit into an answer.
  private static let askedCountMax = 128

  /// The next entries, as far as they must be asked for before they are shown with their attributes.
  var entriesLackingFacts: [Entry] {
    guard bucket.options.metadataSource == .head else { return [] }
    let now = bucket.time.now
    return upcoming().entries.filter { bucket.lacksFacts($0, at: now) }
  }

  /// The same, ending where `entriesLackingFacts` does.
  var limitedToAsked: DirectoryCursor {
    var cursor = self
    cursor.end = upcoming().end
    return cursor
  }

  private func upcoming() -> (entries: [Entry], end: Int) {
    var entries: [Entry] = []
    var position = max(offset - Self.rowOffset, 0)
    while entries.count < Self.askedCountMax {
      guard let row = nextRow(from: position) else { return (entries, .max) }
      entries.append(row.entry)
      position = row.position + 1
    }
    return (entries, position + Self.rowOffset)
  }

  private func dots(_ name: String, _ inodeNumber: UInt64) -> DirectoryEntry {
    DirectoryEntry(
      name: FileName(name),
      inodeNumber: inodeNumber,
      kind: .directory,
      nextOffset: offset + 1
    )
  }

  /// The first row from `position` on that is shown.
  private func nextRow(from position: Int) -> Row? {
    var position = position
    while let (entry, child) = row(at: position) {
      // The object at the directory's own key can be looked up, but a program that copies or
      // removes what it finds knows no such file. Nor does it know what Dipper itself keeps at the root.
      if let entry, !(entry.kind == .file && entry.component.isEmpty), !isOwn(entry) {
        return Row(
          position: position,
          entry: entry,
          name: NameCodec.name(of: child, bucket.queries.digest),
          isShadowed: child.isShadowedObject
        )
      }
      position += 1
    }
    return nil
  }

  /// It is the directory of what Dipper leaves in the bucket while it renames.
  private func isOwn(_ entry: Entry) -> Bool {
    entry.kind == .directory && open.directory.node == .root
      && entry.component.elementsEqual(Drafts.markerDirectoryName.utf8)
  }

  /// The row at a position, behind the listing's those that were made since; its entry is nil if it was
  /// removed since, or is in the listing.
  private func row(at position: Int) -> (entry: Entry?, child: NameCodec.Child)? {
    guard let changes else { return listing.row(at: position).map { ($0, $1) } }
    let isListed: Bool
    let found: Entry
    if let (entry, _) = listing.row(at: position) {
      (isListed, found) = (true, entry)
    } else {
      // Only a complete listing has an end behind which others can have their places.
      guard listing.completedAt != nil, let entry = changes.made(at: position - listing.count)
      else { return nil }
      (isListed, found) = (false, entry)
    }
    let (component, startedAt) = (Array(found.component), listing.startedAt)
    let state = changes.names.state(of: component, found.kind, sinceListing: startedAt)
    let below = changes.names.state(of: component, .directory, sinceListing: startedAt)
    let hasDirectory =
      below.map { $0.entry != nil } ?? (listing.entry(component[...], .directory) != nil)
    let child = NameCodec.Child(
      component: component,
      isShadowedObject: found.kind == .file && (component.isEmpty || hasDirectory)
    )
    guard isListed else {
      let isRepeated = listing.position(of: found) != nil
      return (isRepeated ? nil : state?.entry, child)
    }
    return (state.map(\.entry) ?? found, child)
  }
}

/// What was changed in a directory when somebody began to read it.
struct ListedChanges: Sendable {
  let names: NameChanges
  private let made: [Entry]

  /// The changes; nil if there are none.
  init?(_ names: NameChanges?) {
    guard let names, names.count > 0 else { return nil }
    self.names = names
    made = names.made
  }

  /// What was made, in an order that stays; nil behind the last.
  func made(at index: Int) -> Entry? { made.indices.contains(index) ? made[index] : nil }
}

extension MountedBucket {
  /// False if a child was removed since it was listed.
  func isThere(_ entry: Entry) -> Bool {
    tables.withLock { tables in
      guard let changes = tables.changes[entry.page.prefix] else { return true }
      let state = changes.state(
        of: Array(entry.component),
        entry.kind,
        sinceListing: entry.page.requestedAt
      )
      return state.map { $0.entry != nil } ?? true
    }
  }
}
