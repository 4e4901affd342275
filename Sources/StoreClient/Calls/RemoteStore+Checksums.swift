internal import Core
internal import StoreWire
internal import Support

// Checksums that go along with what is written. A store that doesn't know the field and says so has the
// write once more without it, and none from then on; most that don't know it say nothing.
extension RemoteStore {
  /// Makes a call whose body is the caller's, with the checksum of that.
  func send<Answer: Sendable>(
    _ body: BodySource,
    with call: WireCall<Answer>,
    _ context: RequestContext,
    settle: () async throws(StoreError) -> Answer? = { () throws(StoreError) in nil }
  ) async throws(StoreError) -> Answer {
    guard let kind = session.withLock(\.checksum), let digest = await Self.digest(kind, of: body)
    else { return try await write(call, body: body, context, settle: settle) }
    let checked = dialect.checked(call, by: digest)
    do throws(StoreError) {
      return try await write(
        checked,
        body: body,
        context,
        settle: settle,
        isTelling: { !$0.mayBeAboutChecksums }
      )
    } catch {
      guard error.mayBeAboutChecksums else { throw error.meetingDamage }
      let answer = try await write(call, body: body, context, settle: settle)
      forget(kind, after: error)
      return answer
    }
  }

  /// Makes a call that makes an object, or begins one, without a body of the caller's.
  func create<Answer: Sendable>(
    _ call: WireCall<Answer>,
    isSilent: Bool = false,
    _ context: RequestContext,
    settle: () async throws(StoreError) -> Answer? = { () throws(StoreError) in nil }
  ) async throws(StoreError) -> Answer {
    guard let kind = session.withLock(\.checksum), kind != .md5 else {
      return try await write(call, isSilent: isSilent, context, settle: settle)
    }
    let keeping = dialect.keeping(kind, call)
    do throws(StoreError) {
      return try await write(
        keeping,
        isSilent: isSilent,
        context,
        settle: settle,
        isTelling: { !$0.mayBeAboutChecksums }
      )
    } catch {
      guard error.mayBeAboutChecksums else { throw error }
      let answer = try await write(call, isSilent: isSilent, context, settle: settle)
      forget(kind, after: error)
      return answer
    }
  }

  /// The store takes the write without the field, so it was the field.
  private func forget(_ kind: ChecksumKind, after error: StoreError) {
    session.withLock { $0.checksum = nil }
    surroundings.log.write(
      .warning,
      "the store doesn't take the checksum \(kind.rawValue) with what is written; none is sent any more: "
        + "\(error)"
    )
  }

  /// Returns the checksum of a body; nil if it can't be had.
  ///
  /// It reads a file once more, from the memory that has its pages if they were written just now.
  private static func digest(_ kind: ChecksumKind, of body: BodySource) async -> BodyDigest? {
    await BlockingPool(threadCount: 1).run {
      guard var builder = BodyDigest.Builder(kind) else { return nil }
      guard body.forEachChunk({ builder.update($0) }) else { return nil }
      return builder.finish()
    }
  }
}

extension StoreError {
  /// Tells a body that arrived as another one from a request that can't be right: it is worth another try,
  /// with the checksum computed anew.
  fileprivate var meetingDamage: StoreError {
    guard status == 400, code == "BadDigest" || code == "XAmzContentChecksumMismatch" else {
      return self
    }
    var error = self
    error.kind = .invalidAnswer
    return error
  }

  /// A refusal for a field that the store doesn't know, or doesn't know such a value of.
  ///
  /// Not one for a checksum that is wrong: that has a code of its own, and is a failure.
  fileprivate var mayBeAboutChecksums: Bool {
    switch status {
    case 501: true
    case 400:
      ["InvalidArgument", "InvalidRequest", "NotImplemented"].contains(code)
        && message.lowercased().contains("checksum")
    default: false
    }
  }
}
