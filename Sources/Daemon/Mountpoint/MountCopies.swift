internal import Core
internal import Support

/// Processes that see a mount in a mount namespace of their own: a container or a service that was
/// started while it was mounted has a copy, which unmounting it elsewhere may leave behind.
package struct MountCopies: Hashable, Sendable {
  /// One process of each such namespace.
  package var holders: [Holder] = []

  /// A process.
  package struct Holder: Hashable, Sendable {
    /// Its id.
    package var processID: Int32
    /// Its program's name.
    package var name: String
  }

  /// Looks through /proc for copies of the mount of a device; asks the mount itself nothing.
  ///
  /// - Parameters:
  ///   - device: the kernel's number of the mount's device, `major:minor`.
  ///   - proc: where /proc is.
  /// - Returns: what could be seen: only one's own processes, unless one is root.
  package static func find(of device: String, proc: String = "/proc") -> MountCopies {
    let own = try? Disk.linkTarget(of: "\(proc)/self/ns/mnt")
    var seen: Set<String> = own.map { [$0] } ?? []
    var copies = MountCopies()
    for processID in ((try? Disk.names(in: proc)) ?? []).compactMap({ Int32($0) }).sorted() {
      let directory = "\(proc)/\(processID)"
      guard let namespace = try? Disk.linkTarget(of: directory + "/ns/mnt"),
        seen.insert(namespace).inserted,
        let table = try? SmallFile.read(directory + "/mountinfo", countMax: 4 << 20),
        MountTable(table).entries.contains(where: { $0.device == device })
      else { continue }
      let name = (try? SmallFile.read(directory + "/comm")) ?? []
      copies.holders.append(
        Holder(
          processID: processID,
          name: String(decoding: name.prefix { $0 != 0x0A }, as: UTF8.self)
        )
      )
    }
    return copies
  }

  /// Who has copies, for a sentence; nil if nobody is seen.
  package var words: String? {
    guard !holders.isEmpty else { return nil }
    let shown = holders.prefix(3)
      .map { "process \($0.processID) (\($0.name.utf8.printable))" }
    let more = holders.count > 3 ? " and \(holders.count - 3) more" : ""
    return shown.joined(separator: ", ") + more
  }
}
