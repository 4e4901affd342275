/// What `dipper recover` found and did; with `--json` it is printed as it is.
package struct RecoveryReport: Codable, Hashable, Sendable {
  /// The version of this format.
  package var version = 1
  /// The renamings that were not finished.
  package var renamings: [Item] = []

  /// One of them.
  package struct Item: Codable, Hashable, Sendable {
    /// The old key, or beginning of keys; empty if the journal can't be read.
    package var source = ""
    /// The new one.
    package var target = ""
    /// True if every key that begins with `source` is renamed.
    package var isTree = true
    /// Who began it; nil if this machine did.
    package var holder: String?
    /// The journal on the machine that began it, or the marker's key.
    package var place = ""
    /// What there is to say of it.
    package var state = State.unfinished
    /// Keys that stay under the old name, since somebody has put something else at the new one.
    package var leftKeys: Int?
    /// Why it could not be finished.
    package var error: String?

    /// What there is to say of a renaming.
    package enum State: String, Codable, Sendable {
      /// It waits to be finished.
      case unfinished
      /// A living process is at it, or was a few minutes ago.
      case running
      /// It was finished just now.
      case finished
      /// It could not be finished.
      case failed
    }

    fileprivate static func count(_ count: Int, _ one: String, _ many: String) -> String {
      "\(count) \(count == 1 ? one : many)"
    }

    private enum CodingKeys: String, CodingKey {
      case source
      case target
      case isTree = "is_tree"
      case holder
      case place
      case state
      case leftKeys = "left_keys"
      case error
    }

    /// Writes the item with null for what is not known, so that every field is there.
    ///
    /// - Parameter encoder: where to.
    /// - Throws: what the encoder throws.
    package func encode(to encoder: any Encoder) throws {
      var fields = encoder.container(keyedBy: CodingKeys.self)
      try fields.encode(source, forKey: .source)
      try fields.encode(target, forKey: .target)
      try fields.encode(isTree, forKey: .isTree)
      try fields.encode(holder, forKey: .holder)
      try fields.encode(place, forKey: .place)
      try fields.encode(state, forKey: .state)
      try fields.encode(leftKeys, forKey: .leftKeys)
      try fields.encode(error, forKey: .error)
    }

    /// One line for a person.
    package var line: String {
      let names = source.isEmpty ? place : "\(source) -> \(target)"
      switch state {
      case .unfinished:
        return "unfinished: \(names)" + (holder.map { " (begun by \($0))" } ?? "")
      case .running: return "running: \(names) (by \(holder ?? "another process"))"
      case .finished:
        let left = leftKeys ?? 0
        return "finished: \(names)"
          + (left > 0
            ? "; \(Self.count(left, "key stays", "keys stay")) under the old name, see the log"
            : "")
      case .failed: return "failed: \(names): \(error ?? "for an unknown reason")"
      }
    }
  }

  /// Creates an empty report.
  package init() {}

  /// True if nothing is left to be done.
  package var isClear: Bool { renamings.allSatisfy { $0.state == .finished } }

  /// Why the command did not do all there is to do, in one sentence; nil if it did.
  package var sentence: String? {
    let failed = renamings.count { $0.state == .failed }
    let waiting = renamings.count { $0.state == .unfinished }
    let running = renamings.count { $0.state == .running }
    if failed > 0 {
      let all = Item.count(renamings.count, "renaming", "renamings")
      return "\(failed) of \(all) could not be finished"
    }
    if waiting > 0 {
      return Item.count(waiting, "renaming is", "renamings are")
        + " not finished; 'dipper recover --finish' finishes what is left"
    }
    guard running > 0 else { return nil }
    return Item.count(
      running,
      "renaming belongs to a living process, or to one",
      "renamings belong to living processes, or to some"
    ) + " that died a few minutes ago: try again later"
  }

  /// Only what living processes do is left.
  package var isHeld: Bool {
    !isClear && renamings.allSatisfy { $0.state == .finished || $0.state == .running }
  }
}
