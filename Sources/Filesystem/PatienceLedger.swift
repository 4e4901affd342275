internal import Core

/// What the operations that make up one system call may wait together.
///
/// The kernel makes several operations of one call: it looks up the names of a path one by one, and
/// asks for a name that it knew a second time if the first answer is a failure. Each alone would end
/// by its deadline, together they would take a multiple. So a wait that the store left unanswered is
/// noted with the moment it began, and what is asked next about the same name, or about something
/// below it, goes on with the time that is left of it.
///
/// A store that answers, however slowly, is not noted: each of its answers is progress.
struct PatienceLedger: Sendable {
  /// How long an operation may wait.
  struct Budget: Sendable {
    fileprivate let key: ArraySlice<UInt8>
    /// Since when its system call has waited for a store that doesn't answer.
    let since: Instant
    /// When it must have ended.
    let deadline: Instant
    /// Why it isn't begun at all: its call has no time left.
    let refusal: FileError?
  }

  private struct Wait {
    let since: Instant
    let ended: Instant
    /// How it failed; nil if it went on with what was known before.
    let error: FileError?
  }

  /// Waits that are remembered at once, at most.
  private static let countMax = 4096

  private let patience: Duration
  private let span: Duration
  private var waits: [ArraySlice<UInt8>: Wait] = [:]

  /// Creates an empty ledger.
  ///
  /// - Parameters:
  ///   - patience: what one system call may wait.
  ///   - span: what begins within this time of a wait's end continues its call.
  init(patience: Duration, span: Duration) {
    self.patience = patience
    self.span = span
  }

  /// What an operation on `key` that begins at `now` may wait.
  func budget(for key: ObjectKey, at now: Instant) -> Budget {
    let key = Self.path(of: key)
    let same = wait(at: key, now)
    let waits = [same] + ancestors(of: key, now)
    let since = waits.reduce(now) { min($0, $1?.since ?? $0) }
    let deadline = since + patience
    var refusal: FileError?
    if let same, let error = same.error, (same.ended - same.since) * 2 >= patience {
      // Asked again, and most of the time is gone: the answer would be the same.
      refusal = error
    } else if since < now, deadline - now <= Self.reserve(of: patience) {
      refusal = FileError(
        .timedOut,
        "the store has not answered for \(now - since), and there is no time left to ask it for"
          + " \"\(key.printable)\""
      )
    }
    return Budget(key: key, since: since, deadline: deadline, refusal: refusal)
  }

  /// An operation failed at `now` because the store didn't answer.
  mutating func failed(_ budget: Budget, _ error: FileError, at now: Instant) {
    note(budget.key, Wait(since: budget.since, ended: now, error: error))
  }

  /// An operation went on at `now` with what was known before, because the store didn't answer.
  mutating func fellBack(_ budget: Budget, at now: Instant) {
    note(budget.key, Wait(since: budget.since, ended: now, error: nil))
  }

  /// The last part of an operation's time, in which the store isn't asked any more, so that its reason
  /// is told and not only that there was no answer.
  static func reserve(of patience: Duration) -> Duration { patience / 20 }

  private mutating func note(_ key: ArraySlice<UInt8>, _ wait: Wait) {
    if waits.count >= Self.countMax {
      waits = waits.filter { $0.value.ended + span > wait.ended }
      if waits.count >= Self.countMax { waits = [:] }
    }
    waits[key] = wait
  }

  private func wait(at key: ArraySlice<UInt8>, _ now: Instant) -> Wait? {
    waits[key].flatMap { $0.ended + span > now ? $0 : nil }
  }

  /// The unanswered confirmations of the directories that `key` is in.
  private func ancestors(of key: ArraySlice<UInt8>, _ now: Instant) -> [Wait?] {
    guard !waits.isEmpty else { return [] }
    return key.indices.compactMap { index in
      guard key[index] == Self.slash, let wait = wait(at: key[..<index], now), wait.error == nil
      else { return nil }
      return wait
    }
  }

  private static let slash = UInt8(ascii: "/")

  /// The key as a path: a directory's without the slash at its end.
  private static func path(of key: ObjectKey) -> ArraySlice<UInt8> {
    key.isDirectoryMarker ? key.bytes.dropLast() : key.bytes[...]
  }
}
