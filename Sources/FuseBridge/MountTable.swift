internal import Core
internal import Support

/// What is mounted where, as the kernel says, without asking the file systems themselves.
///
/// A `stat` of a mountpoint would be answered by the file system behind it, which may be us, or may
/// hang.
/// Source: proc(5), "/proc/pid/mountinfo".
package struct MountTable: Sendable {
  /// One mount.
  package struct Entry: Hashable, Sendable {
    /// The device, `major:minor`.
    package var device: String
    /// Where it is mounted.
    package var mountpoint: String
    /// The file system's type, such as `fuse.dipper`.
    package var type: String
    /// What is mounted, such as `s3://bucket`.
    package var source: String
  }

  /// The mounts, in the order they were made; a later one hides an earlier one at its mountpoint.
  package let entries: [Entry]

  /// Reads the table from the text of a mountinfo file; lines it doesn't understand are left out.
  package init(text: String) {
    entries = text.split(separator: "\n").compactMap(Self.entry)
  }

  /// Reads this process's table; empty if /proc isn't there.
  package static func current() -> MountTable {
    MountTable(text: String(decoding: contents(of: "/proc/self/mountinfo"), as: UTF8.self))
  }

  /// The mount that one meets at `mountpoint`.
  package func top(at mountpoint: String) -> Entry? {
    entries.last { $0.mountpoint == mountpoint }
  }

  // 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
  private static func entry(_ line: Substring) -> Entry? {
    let fields = line.split(separator: " ", omittingEmptySubsequences: false)
    guard fields.count >= 9, let separator = fields[6...].firstIndex(of: "-"),
      separator + 2 < fields.count
    else { return nil }
    return Entry(
      device: String(fields[2]),
      mountpoint: unescaped(fields[4]),
      type: unescaped(fields[separator + 1]),
      source: unescaped(fields[separator + 2])
    )
  }

  /// Space, tab, line end and backslash are written as a backslash and three octal digits.
  private static func unescaped(_ field: Substring) -> String {
    var bytes: [UInt8] = []
    var rest = field.utf8[...]
    while let byte = rest.popFirst() {
      let digits = rest.prefix(3)
      if byte == UInt8(ascii: "\\"), digits.count == 3,
        let code = UInt8(String(decoding: digits, as: UTF8.self), radix: 8)
      {
        bytes.append(code)
        rest = rest.dropFirst(3)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// The bytes of a small file whose size can't be known before, as in /proc; none if it can't be
/// read.
func contents(of path: String) -> [UInt8] {
  guard let file = try? FileDescriptor.open(path, .read) else { return [] }
  var bytes: [UInt8] = []
  let step = 16 * 1024
  var isAtEnd = false
  while !isAtEnd {
    let offset = bytes.count
    bytes.append(contentsOf: repeatElement(0, count: step))
    let count =
      bytes.withUnsafeMutableBytes { buffer in
        try? file.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[offset...]), at: offset)
      } ?? 0
    bytes.removeLast(step - count)
    isAtEnd = count < step
  }
  return bytes
}
