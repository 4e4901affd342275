internal import Core
internal import Support

/// What a listing says of a directory, as far as it may be believed.
struct ListingView: Sendable {
  fileprivate let listing: DirectoryListing
  /// What isn't in it is not there.
  fileprivate let isComplete: Bool
  /// Until when it is believed; nil is each row for itself.
  fileprivate let until: Instant?
  private let timeToLive: Duration

  /// The view of what is believed.
  init?(_ knowledge: Directory.Knowledge, _ timeToLive: Duration) {
    self.timeToLive = timeToLive
    switch knowledge {
    case .believed(let listing, let until):
      self.listing = listing
      isComplete = true
      self.until = until
    case .filling(let listing):
      self.listing = listing
      isComplete = false
      until = nil
    case .none: return nil
    }
  }

  /// The view of a complete listing, if it is recent enough.
  init?(_ listing: DirectoryListing?, since oldest: Instant, until: Instant) {
    guard let listing, let completedAt = listing.completedAt, completedAt >= oldest else {
      return nil
    }
    self.init(listing, until: until)
  }

  /// The view of a complete listing.
  init(_ listing: DirectoryListing, until: Instant) {
    self.listing = listing
    isComplete = true
    self.until = until
    timeToLive = .zero
  }

  fileprivate func state(
    of component: [UInt8],
    _ kind: FileKind
  ) -> (state: NameChanges.State, until: Instant)? {
    if let entry = listing.entry(component[...], kind) {
      return (.present(entry), until ?? entry.page.requestedAt + timeToLive)
    }
    return isComplete ? until.map { (.absent, $0) } : nil
  }
}

/// What this mount changed of one name: the object's state and the directory's.
struct ChildChanges: Sendable {
  var file: NameChanges.Change?
  var directory: NameChanges.Change?

  private struct Known {
    let state: NameChanges.State
    let until: Instant
    let isChange: Bool
  }

  /// What a name leads to, by what was changed and by a listing beneath; nil if the store must be asked.
  ///
  /// A change that the store has counts for `span`, and as long as there is only older knowledge.
  func sighting(
    of child: NameCodec.Child,
    over base: ListingView?,
    at now: Instant,
    believedFor span: Duration
  ) -> Sighting? {
    func known(_ change: NameChanges.Change?, _ kind: FileKind) -> Known? {
      if let change {
        let until = change.settledAt.map { $0 + span } ?? now + span
        let isNews =
          base.map { change.isNews(toListingSince: $0.listing.startedAt) } ?? (until > now)
        if isNews { return Known(state: change.state, until: max(until, now), isChange: true) }
      }
      return base?.state(of: child.component, kind)
        .map { Known(state: $0.state, until: $0.until, isChange: false) }
    }
    let (object, below) = (known(file, .file), known(directory, .directory))
    let hasDirectory =
      below?.state.entry != nil || (child.component.isEmpty && child.isShadowedObject)
    if child.isShadowedObject {
      guard hasDirectory || below != nil else { return nil }
      guard hasDirectory, let object else {
        return hasDirectory ? nil : below.map { .absent(until: $0.until) }
      }
      return object.state.entry.map { .found($0, until: object.until) }
        ?? .absent(until: object.until)
    }
    if let below, let entry = below.state.entry { return .found(entry, until: below.until) }
    if child.component.isEmpty { return below.map { .absent(until: $0.until) } }
    guard let object else { return nil }
    if let entry = object.state.entry { return .found(entry, until: object.until) }
    // The name was an object's, so there was no directory that could have taken it.
    guard below != nil || object.isChange else { return nil }
    return .absent(until: min(object.until, below?.until ?? object.until))
  }
}

extension MountedBucket {
  /// What was changed of a name; nil if nothing was.
  func changes(of child: NameCodec.Child, in prefix: ObjectKey) -> ChildChanges? {
    tables.withLock { tables in
      guard let changes = tables.changes[prefix] else { return nil }
      let found = ChildChanges(
        file: changes.change(of: child.component, .file),
        directory: changes.change(of: child.component, .directory)
      )
      return found.file == nil && found.directory == nil ? nil : found
    }
  }
}
