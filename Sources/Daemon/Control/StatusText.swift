internal import Core

/// The status for people: aligned and calm.
package enum StatusText {
  /// Returns the text of a report, ending with a line's end.
  package static func text(_ report: StatusReport) -> String {
    guard !report.mounts.isEmpty else { return "Nothing is mounted.\n" }
    return report.mounts.map(text).joined(separator: "\n")
  }

  private static func text(_ mount: MountStatus) -> String {
    var lines = ["\(shown(mount.mountpoint))  \(shown(mount.bucket))"]
    guard mount.answers else {
      let who = mount.pid.map { "the daemon (pid \($0)) is not answering" } ?? "the daemon is gone"
      return lines[0] + "\n  \(who); 'dipper unmount' clears the mount\n"
    }
    lines += rows(facts(mount))
    for transfer in mount.transfers { lines.append("  " + text(transfer)) }
    if !mount.unsaved.isEmpty {
      lines.append("  not stored yet:")
      for item in mount.unsaved {
        lines.append(
          "    \(shown(item.path)) (\(ByteSize.describe(item.bytes))): \(shown(item.reason))"
        )
      }
    }
    if !mount.errors.isEmpty {
      lines.append("  last errors:")
      for failure in mount.errors.suffix(5) { lines.append("    " + text(failure)) }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func facts(_ mount: MountStatus) -> [(String, String)] {
    let counters = mount.counters
    let requests = counters.requests.filter { $0.value > 0 }.sorted { $0.key < $1.key }
      .map { "\($0.key) \($0.value)" }
    let answered = counters.cacheHitBytes + counters.cacheMissBytes
    let share = answered == 0 ? "" : " (\(counters.cacheHitBytes * 100 / answered) % of reads)"
    return [
      ("since", "\(mount.since), pid \(mount.pid ?? 0)\(mount.readOnly ? ", read-only" : "")"),
      (
        "cache",
        "\(ByteSize.describe(mount.cache.bytes)) of \(ByteSize.describe(mount.cache.limitBytes)) in "
          + shown(mount.cache.directory)
      ),
      (
        "memory",
        "\(ByteSize.describe(mount.memory.residentBytes)), transfers may use "
          + ByteSize.describe(mount.memory.budgetBytes)
      ),
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
