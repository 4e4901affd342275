internal import Core
internal import ObjectFiles
internal import Support

/// Which drafts have ranges of other objects in them that are still to be copied by the store.
struct PendingCopies {
  private struct Copier {
    let draft: Draft
    var sources: Set<ObjectKey>
  }

  private var copiers: [ObjectIdentifier: Copier] = [:]

  /// A draft was given a range of the object at a key, or of whatever else the draft at that key has in it.
  mutating func copied(from key: ObjectKey, _ origin: Draft?, to draft: Draft) {
    let inherited = origin.flatMap { copiers[ObjectIdentifier($0)]?.sources } ?? []
    copiers[ObjectIdentifier(draft), default: Copier(draft: draft, sources: [])].sources
      .formUnion(inherited.union([key]))
  }

  /// The drafts that need the object at a key as it is.
  func copiers(of key: ObjectKey) -> [Draft] { copiers { $0 == key } }

  /// The drafts that need an object below a prefix as it is.
  func copiers(below prefix: ObjectKey) -> [Draft] { copiers { $0.hasPrefix(prefix) } }

  /// The store has a draft, or nobody needs it any more.
  mutating func ended(_ draft: Draft) {
    guard !copiers.isEmpty else { return }
    copiers[ObjectIdentifier(draft)] = nil
  }

  private func copiers(where isSource: (ObjectKey) -> Bool) -> [Draft] {
    copiers.isEmpty
      ? [] : copiers.values.filter { $0.sources.contains(where: isSource) }.map(\.draft)
  }
}

extension MountedBucket {
  /// Lets the store copy what drafts have of an object, before that is removed, moved or replaced.
  ///
  /// A copied range is the source's bytes as they were when it was copied, whatever becomes of the source.
  /// Call before the source's turn, or in it: the drafts' own turns aren't needed.
  func publishCopies(of key: ObjectKey) async throws(FileError) {
    try await publishCopiers(tables.withLock { $0.copies.copiers(of: key) }, but: key)
  }

  /// Lets the store copy what drafts have of objects below a prefix.
  func publishCopies(below prefix: ObjectKey) async throws(FileError) {
    try await publishCopiers(tables.withLock { $0.copies.copiers(below: prefix) }, but: prefix)
  }

  /// Lets the store copy what others have of an object that is about to be replaced.
  ///
  /// Who can't be copied in time has reported that, and is told by its own close; it holds up nobody else.
  func publishCopiesBeforeReplacing(_ draft: Draft) async {
    guard draft.isDirty else { return }
    try? await publishCopies(of: draft.key)
  }

  private func publishCopiers(_ drafts: [Draft], but key: ObjectKey) async throws(FileError) {
    for draft in drafts where draft.isDirty && draft.key != key {
      _ = try await draft.publish().get()
    }
  }
}
