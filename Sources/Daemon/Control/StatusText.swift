internal import Core
internal import Support

/// The status for people: aligned and calm.
package enum StatusText {
  /// Returns the text of a report, ending with a line's end.
  package static func text(_ report: StatusReport) -> String {
    guard !report.mounts.isEmpty else { return "Nothing is mounted.\n" }
    return report.mounts.map(text).joined(separator: "\n")
  }

  private static func text(_ mount: MountStatus) -> String {
    var lines = ["\(shown(mount.mountpoint))  \(shown(mount.bucket))"]
    guard mount.answers, let facts = facts(mount) else {
      let who =
        mount.pid.map { "the daemon (pid \($0))\(user(mount)) is not answering" }
        ?? "no daemon\(user(mount)) answers: it has ended, or was started in another environment"
      return lines[0] + "\n  \(who); 'dipper unmount' clears the mount\n"
    }
    if mount.state == .detached {
      lines.append("  detached; it ends when nothing uses it any more")
    }
    lines += rows(facts)
    for transfer in mount.transfers ?? [] { lines.append("  " + text(transfer)) }
    if let unsaved = mount.unsaved, !unsaved.isEmpty {
      lines.append("  not stored yet:")
      for item in unsaved {
        lines.append(
          "    \(shown(item.path)) (\(ByteSize.describe(item.bytes))): \(shown(item.reason))"
        )
      }
    }
    if let errors = mount.errors, !errors.isEmpty {
      lines.append("  last errors:")
      for failure in errors.suffix(5) { lines.append("    " + text(failure)) }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// The rows of a mount that answers; nil if it says too little.
  private static func facts(_ mount: MountStatus) -> [(String, String)]? {
    guard let since = mount.since, let cache = mount.cache, let memory = mount.memory,
      let counters = mount.counters
    else { return nil }
    let mode = mount.readOnly == true ? ", read-only" : ""
    let requests = counters.requests.filter { $0.value > 0 }.sorted { $0.key < $1.key }
      .map { "\($0.key) \($0.value)" }
    let answered = counters.cacheHitBytes + counters.cacheMissBytes
    let share = answered == 0 ? "" : " (\(counters.cacheHitBytes * 100 / answered) % of reads)"
    return [
      ("since", "\(since), pid \(mount.pid ?? 0)\(user(mount))\(mode)"),
      (
        "cache",
        "\(ByteSize.describe(cache.bytes)) of \(ByteSize.describe(cache.limitBytes)) in "
          + shown(cache.directory)
      ),
      (
        "memory",
        "\(ByteSize.describe(memory.residentBytes)), transfers may use "
          + ByteSize.describe(memory.budgetBytes)
      ),
      ("log", shown(mount.log ?? "unknown")),
      (
        "received",
        "\(ByteSize.describe(counters.bytesReceived)), read without waiting "
          + "\(ByteSize.describe(counters.cacheHitBytes))\(share)"
      ),
      (
        "passthrough",
        shown(mount.passthrough ?? "unknown") + ", \(counters.passthroughOpens) opens"
      ),
      (
        "requests",
        requests.isEmpty
          ? "none yet"
          : requests.joined(separator: ", ")
            + (counters.retries > 0 ? "; retries \(counters.retries)" : "")
      ),
    ]
  }

  /// Whose it is, if that is somebody else.
  private static func user(_ mount: MountStatus) -> String {
    guard let user = mount.user, user != Disk.userID else { return "" }
    return " of the user with the id \(user)"
  }

  private static func text(_ transfer: MountStatus.Transfer) -> String {
    let share = transfer.bytesTotal == 0 ? 100 : transfer.bytesDone * 100 / transfer.bytesTotal
    return "\(transfer.kind) \(shown(transfer.key)): \(share) % of "
      + "\(ByteSize.describe(transfer.bytesTotal)), \(transfer.state)"
      + (transfer.error.map { ": \(shown($0))" } ?? "")
  }

  private static func text(_ failure: MountStatus.Failure) -> String {
    let facts = [failure.code, failure.requestID.map { "request id \($0)" }].compactMap(\.self)
    return "\(failure.time) \(failure.operation) \(shown(failure.path)): \(failure.errno), "
      + shown(failure.message)
      + (facts.isEmpty ? "" : " (\(facts.joined(separator: ", ")))")
  }

  private static func rows(_ pairs: [(String, String)]) -> [String] {
    let width = pairs.map(\.0.count).max() ?? 0
    return pairs.map { name, value in
      "  \(name)\(String(repeating: " ", count: width - name.count))  \(value)"
    }
  }

  // Keys and messages come from outside and must not move the cursor.
  private static func shown(_ text: String) -> String { text.utf8.printable }
}
