package import Core
package import Support
package import Transfer

/// The directory below a store's cache in which drafts are kept until the store has them
/// (docs/cache-format.md).
package final class StagingArea: Sendable {
  /// Its path.
  package let path: String
  private let log: Log
  private let faults: PartFile.DiskFaults?

  /// The end of the name of a draft whose files are being removed.
  private static let doneSuffix = ".done"
  /// The end of the name of a draft that can't be read, which is kept for whoever wants to look.
  private static let damagedSuffix = ".damaged"

  /// Makes the directory if it isn't there; `faults` lets steps of the disk fail in tests.
  package init(
    at path: String,
    log: Log = Log(),
    faults: PartFile.DiskFaults? = nil
  ) throws(DiskFailure) {
    self.path = path
    self.log = log
    self.faults = faults
    try Disk.createDirectory(path)
  }

  /// Makes a new draft whose journal begins with `changes`.
  package func make(_ changes: [DraftChange]) throws(DiskFailure) -> StagedDraft {
    while true {
      let digits = String(UInt64.random(in: .min ... .max), radix: 16)
      let id = String(repeating: "0", count: 16 - digits.utf8.count) + digits
      let directory = path + "/" + id
      guard try Disk.createNewDirectory(directory) else { continue }
      do throws(PartFile.OpenError) {
        let journal = try CheckpointFile.replace(
          StagedDraft.journalPath(directory),
          with: DraftJournal(changes).text,
          faults
        )
        return StagedDraft(id: id, at: directory, journal: journal, faults: faults)
      } catch {
        try? Disk.removeTree(directory)
        throw DiskFailure(error, directory)
      }
    }
  }

  /// What is there of a draft that an earlier process left.
  package enum Found: Sendable {
    /// A draft, and what has happened to it.
    case draft(StagedDraft, [DraftChange])
    /// One that can't be read; it is kept, and why it can't be read is known if it was found just now.
    case damaged(path: String, reason: String?)
    /// One of another version of the format, left alone.
    case unknown(path: String, version: String)
  }

  /// Looks through what earlier processes have left.
  ///
  /// Nothing that could hold somebody's bytes is removed. What is wrong goes to the log.
  package func find() throws(DiskFailure) -> [Found] {
    var found: [Found] = []
    for name in try Disk.names(in: path).sorted() {
      let directory = path + "/" + name
      do throws(DiskFailure) {
        if let draft = try look(at: directory, name) { found.append(draft) }
      } catch {
        log.write(.warning, "a draft can't be looked at: \(error)", ["directory": directory])
        found.append(.damaged(path: directory, reason: "\(error)"))
      }
    }
    return found
  }

  private func look(at directory: String, _ name: String) throws(DiskFailure) -> Found? {
    guard let status = try Disk.status(of: directory), status.isOwnDirectory else { return nil }
    if name.hasSuffix(Self.doneSuffix) {
      try Disk.removeTree(directory)
      return nil
    }
    if name.hasSuffix(Self.damagedSuffix) { return .damaged(path: directory, reason: nil) }
    let text: [UInt8]?
    do {
      text = try CheckpointFile.text(
        at: StagedDraft.journalPath(directory),
        sizeMax: StagedDraft.journalSizeMax
      )
    } catch {
      return try setAside(directory, "its journal can't be read: \(error)")
    }
    guard let text else {
      // Nothing was written into it before its journal was there.
      let hasData = try Disk.names(in: directory).contains { $0.hasPrefix("data.") }
      if hasData { return try setAside(directory, "it has no journal") }
      try Disk.removeTree(directory)
      return nil
    }
    let journal: DraftJournal
    do throws(DraftJournal.ParseError) {
      journal = try DraftJournal(parsing: text)
    } catch {
      switch error {
      case .damaged(let reason):
        return try setAside(directory, "its journal is damaged: \(reason)")
      case .unknownVersion(let version):
        log.write(
          .warning,
          "a draft has format \(version.utf8.printable), which this version doesn't know; it is left "
            + "alone",
          ["directory": directory]
        )
        return .unknown(path: directory, version: version)
      }
    }
    if let flaw = try flaw(of: journal, in: directory) { return try setAside(directory, flaw) }
    return .draft(try open(journal, at: directory, name), journal.changes)
  }

  private func open(
    _ journal: DraftJournal,
    at directory: String,
    _ name: String
  ) throws(DiskFailure) -> StagedDraft {
    let path = StagedDraft.journalPath(directory)
    do throws(PartFile.OpenError) {
      let file =
        journal.isTorn
        ? try CheckpointFile.replace(path, with: journal.text, faults)
        : try CheckpointFile.open(path, faults)
      return StagedDraft(id: name, at: directory, journal: file, faults: faults)
    } catch {
      throw DiskFailure(error, directory)
    }
  }

  /// What of the bytes that a journal speaks of is not there; nil if all are.
  ///
  /// A journal that reached the disk before its bytes did, when the power failed.
  private func flaw(
    of journal: DraftJournal,
    in directory: String
  ) throws(DiskFailure) -> String? {
    var ends: [Int: Int] = [:]
    for case .wrote(let range, let file, _) in journal.changes {
      ends[file] = max(ends[file] ?? 0, range.upperBound)
    }
    for (file, end) in ends {
      let status = try Disk.status(of: directory + "/data.\(file)")
      guard status?.kind == .file, let size = status?.size, size >= end else {
        return "its data file \(file) has not all of the bytes that its journal tells of"
      }
    }
    return nil
  }

  private func setAside(_ directory: String, _ reason: String) throws(DiskFailure) -> Found {
    var target = directory + Self.damagedSuffix
    var number = 1
    while try Disk.status(of: target) != nil {
      number += 1
      target = directory + ".\(number)" + Self.damagedSuffix
    }
    try Disk.rename(directory, to: target)
    log.write(.warning, "a draft is set aside: \(reason)", ["directory": target])
    return .damaged(path: target, reason: reason)
  }

  /// Removes a draft in such a way that a crash leaves nothing that could be taken for one.
  static func remove(_ directory: String) throws(DiskFailure) {
    guard try Disk.status(of: directory) != nil else { return }
    try Disk.rename(directory, to: directory + doneSuffix)
    try Disk.removeTree(directory + doneSuffix)
  }

  static func parent(of path: String) -> String {
    String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)])
  }
}
