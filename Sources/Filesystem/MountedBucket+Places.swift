internal import Core
internal import ObjectFiles
internal import Support

/// A name in a directory, and what it means there.
struct Place: Sendable {
  let directory: Directory
  let child: NameCodec.Child

  /// The key of the object of that name.
  var key: ObjectKey { ObjectKey(directory.prefix.bytes + child.component) }
  /// The prefix of the directory of that name.
  var prefix: ObjectKey { ObjectKey(key.bytes + [UInt8(ascii: "/")]) }
}

extension MountedBucket {
  /// What a name means that is to be made, changed or removed.
  func place(of name: FileName, in parent: NodeID) -> Result<Place, FileError> {
    let (directory, isRemoved) = tables.withLock { tables in
      (tables.inodes.directory(parent), tables.inodes.node(parent)?.isRemoved ?? false)
    }
    guard let directory else { return .failure(Self.unknownNode) }
    guard !isRemoved else {
      return .failure(FileError(.notFound, "the directory \"\(directory.prefix)\" was removed"))
    }
    guard name.bytes.count <= NameCodec.nameLengthMax else {
      return .failure(
        FileError(.nameTooLong, "a name has at most \(NameCodec.nameLengthMax) bytes")
      )
    }
    guard let spelled = NameCodec.meaning(of: name),
      case .child(let child) = resolved(spelled, in: directory)
    else {
      return .failure(
        FileError(
          .invalid,
          "\"\(name)\" is not how a key is spelled here; docs/names.md tells how"
        )
      )
    }
    let place = Place(directory: directory, child: child)
    guard place.key.bytes.count <= ObjectKey.byteCountMax else {
      return .failure(
        FileError(
          .nameTooLong,
          "the key \"\(place.key)\" would be longer than \(ObjectKey.byteCountMax) bytes"
        )
      )
    }
    return .success(place)
  }

  /// What a name leads to, by what is believed or by asking.
  func sighting(of place: Place, by deadline: Instant) async -> LookupOutcome {
    let now = time.now
    let meaning = NameCodec.Meaning.child(place.child)
    if let sighting = believed(meaning, in: place.directory, at: now) { return .success(sighting) }
    let gate = Gate()
    let outcome = Lock(LookupOutcome?.none)
    _ = lookUp(meaning, in: place.directory, at: now, by: deadline) { answer in
      outcome.withLock { $0 = answer }
      gate.open()
    }
    await gate.wait()
    return outcome.withLock { $0 } ?? .failure(Self.unknownNode)
  }

  /// Runs a change that waits for the store, and answers by its outcome.
  ///
  /// Whoever is interrupted leaves it to its end. The reply waits until the deadline, unless it `isPatient`:
  /// then the change itself must end.
  func change<Answer: Sendable>(
    _ name: StaticString,
    of key: ObjectKey,
    node: NodeID? = nil,
    isPatient: Bool = false,
    reply: consuming Reply<Answer>,
    onUntaken: @escaping @Sendable (Answer) -> Void = { _ in },
    _ body: @escaping @Sendable (_ deadline: Instant) async -> Result<Answer, FileError>
  ) {
    let operation = FailureReporter.Operation(name: name, path: path(of: key), node: node)
    if isPatient {
      let parked = ParkedReply(reply, grace: .init(Self.changeGrace, by: timers))
      _ = startControlTask { [self] in
        switch await body(.distantFuture) {
        case .success(let answer):
          if !parked.succeed(answer) { onUntaken(answer) }
        case .failure(let error):
          reporter.report(error, operation)
          parked.fail(error)
        }
      }
      return
    }
    let budget = budget(for: key, at: time.now)
    guard let waiting = park(reply, operation, budget, grace: Self.changeGrace) else { return }
    _ = startControlTask {
      switch await body(budget.deadline) {
      case .success(let answer):
        if !waiting.succeed(answer) { onUntaken(answer) }
      case .failure(let error):
        waiting.fail(error)
      }
    }
  }

  /// How long whoever is interrupted while something is changed waits for that to be done.
  ///
  /// On a local disk no signal comes between the beginning of a `rename` or an `unlink` and its end, so
  /// that few programs reckon with `EINTR`; and a killed one must not be held up for long.
  static let changeGrace = Duration.seconds(1)

  /// A request to the store that must have ended by an operation's deadline, or by the time that one has.
  func context(_ deadline: Instant) -> RequestContext {
    RequestContext(
      deadline: min(deadline, time.now + options.deadline),
      retryCountMax: options.retryCountMax
    )
  }
}
