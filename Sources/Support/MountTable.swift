/// The mounts of this process's namespace, as the kernel lists them.
///
/// Reading the list asks no file system anything: a `stat` of a mountpoint would be answered by the
/// file system behind it, which may be us, or may hang.
package struct MountTable: Hashable, Sendable {
  /// One mount.
  package struct Entry: Hashable, Sendable {
    /// Where it is mounted.
    package var mountpoint: String
    /// The kernel's device number, `major:minor`.
    package var device: String
    /// The file system's type, such as `fuse.dipper`.
    package var type: String
    /// What is mounted.
    package var source: String
    /// The user who mounted it, where the file system says (FUSE does).
    package var userID: UInt32?

    /// Creates an entry.
    package init(
      mountpoint: String,
      device: String,
      type: String,
      source: String,
      userID: UInt32? = nil
    ) {
      self.mountpoint = mountpoint
      self.device = device
      self.type = type
      self.source = source
      self.userID = userID
    }
  }

  /// The mounts, in the order in which they were made.
  package let entries: [Entry]

  /// Reads the kernel's list; empty if /proc isn't there.
  package static func current() -> MountTable {
    MountTable((try? SmallFile.read("/proc/self/mountinfo")) ?? [])
  }

  /// Reads a list in the format of `/proc/self/mountinfo`; lines that don't fit are left out.
  ///
  /// Source: proc_pid_mountinfo(5).
  package init(_ bytes: [UInt8]) {
    entries = bytes.split(separator: 0x0A).compactMap { line in
      let words = line.split(separator: 0x20, omittingEmptySubsequences: false)
      guard words.count >= 10,
        let dash = words[6...].firstIndex(where: { $0.elementsEqual([0x2D]) }),
        words.count > dash + 2
      else { return nil }
      return Entry(
        mountpoint: Self.unescape(words[4]),
        device: Self.unescape(words[2]),
        type: Self.unescape(words[dash + 1]),
        source: Self.unescape(words[dash + 2]),
        userID: words.count > dash + 3 ? Self.userID(in: words[dash + 3]) : nil
      )
    }
  }

  /// The mount that one meets at a path; a later one hides an earlier one.
  package func top(at path: String) -> Entry? {
    entries.last { $0.mountpoint == path }
  }

  private static func userID(in options: ArraySlice<UInt8>) -> UInt32? {
    options.split(separator: UInt8(ascii: ","))
      .first { $0.starts(with: Array("user_id=".utf8)) }
      .flatMap { UInt32(String(decoding: $0.dropFirst(8), as: UTF8.self)) }
  }

  /// `\040` and the like are a space, a tab, a line's end or a backslash.
  private static func unescape(_ word: ArraySlice<UInt8>) -> String {
    var bytes: [UInt8] = []
    var rest = word
    while let byte = rest.popFirst() {
      let digits = rest.prefix(3)
      if byte == UInt8(ascii: "\\"), digits.count == 3,
        let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 8)
      {
        bytes.append(value)
        rest.removeFirst(3)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
