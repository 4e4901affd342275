internal import Core
internal import ObjectFiles
internal import Support

/// Names that show only the beginning of a component.
///
/// What such a name means is found in a listing of the directory, however old, or by listing what
/// begins so. It never changes, so once it is known the name is one like any other.
extension MountedBucket {
  /// The components that are remembered, at most; they take a megabyte or two.
  private static let longComponentCountMax = 1024

  /// What a name means, with the component that it shows the beginning of if that is known.
  func resolved(_ meaning: NameCodec.Meaning, in directory: Directory) -> NameCodec.Meaning {
    guard case .long(let name) = meaning else { return meaning }
    let key = NameKey(meaning, in: directory)
    let component =
      tables.withLock { $0.longComponents[key] } ?? directory.component(of: name)
    return component.map { .child(name.child($0)) } ?? meaning
  }

  /// Asks the store which component a name shows the beginning of, and for what is there.
  func find(
    _ name: NameCodec.LongName,
    in directory: Directory,
    by deadline: Instant
  ) async -> LookupOutcome {
    let askedAt = time.now
    let key = NameKey(.long(name), in: directory)
    let older = remembered(.long(name), in: directory, at: askedAt)
    let answer = await queries.component(
      of: name,
      below: directory.prefix,
      hasFallback: older != nil,
      by: deadline
    )
    switch answer {
    case .failure(let error): return outcome(of: error, older)
    case .success(nil):
      let until = askedAt + timeToLive
      noteAbsent(key, until: until)
      return .success(.absent(until: until))
    case .success(let found?):
      let child = name.child(found.component)
      let outcome =
        if let finding = found.finding {
          note(finding, child, in: directory, askedAt: askedAt)
        } else {
          await find(child, in: directory, by: deadline)
        }
      // Not after a failure: whoever asks again would be somebody else to the ledger of waits, and
      // wait for as long once more.
      if case .success = outcome { remember(found.component, of: key) }
      return outcome
    }
  }

  private func remember(_ component: [UInt8], of key: NameKey) {
    tables.withLock { tables in
      if tables.longComponents.count >= Self.longComponentCountMax { tables.longComponents = [:] }
      tables.longComponents[key] = component
    }
  }
}
