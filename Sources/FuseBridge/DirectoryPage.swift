internal import CFuse
internal import Core
internal import Glibc

/// One answer to READDIR or READDIRPLUS in the making.
struct DirectoryPage {
  private let size: Int
  private let withAttributes: Bool
  private var counted: [NodeID] = []

  /// Begins a page of at most `size` bytes.
  init(size: Int, withAttributes: Bool) {
    self.size = size
    self.withAttributes = withAttributes
  }

  /// Takes entries from `source` while they fit, and returns the bytes used; nil if there is an
  /// entry and not even the first fits.
  ///
  /// Names that the kernel would refuse the whole page for are left out.
  mutating func fill(_ buffer: UnsafeMutableRawPointer, from source: any DirectorySource) -> Int? {
    var source = source
    var used = 0
    while let entry = source.peek() {
      guard entry.name.fitsIntoDirectory else {
        _ = source.take(withAttributes: false)
        continue
      }
      let needed = cfuse_entry_size(entry.name.bytes.count, withAttributes ? 1 : 0)
      guard used + needed <= size else { return used == 0 ? nil : used }
      let answer = source.take(withAttributes: withAttributes)
      if withAttributes, let node = answer?.node { counted.append(node) }
      used += add(entry, answer, to: buffer + used, room: size - used)
    }
    return used
  }

  /// Forgets the lookups that the page counted, because nobody took it.
  func giveBack(to operations: any FileOperations) {
    for node in counted { operations.forget(node, count: 1) }
  }

  private func add(
    _ entry: DirectoryEntry,
    _ answer: EntryAnswer?,
    to buffer: UnsafeMutableRawPointer,
    room: Int
  ) -> Int {
    // Without a node an entry is a mere name: the kernel looks it up when somebody wants it.
    var parameters = answer?.parameters ?? fuse_entry_param()
    if parameters.ino == 0 {
      parameters = fuse_entry_param()
      parameters.attr.st_mode = entry.kind.modeBits
    }
    parameters.attr.st_ino = ino_t(entry.inodeNumber)
    return entry.name.bytes.withUnsafeBufferPointer { name in
      if withAttributes {
        return cfuse_add_entry(
          buffer,
          room,
          name.baseAddress,
          name.count,
          nil,
          &parameters,
          off_t(entry.nextOffset)
        )
      }
      return cfuse_add_entry(
        buffer,
        room,
        name.baseAddress,
        name.count,
        &parameters.attr,
        nil,
        off_t(entry.nextOffset)
      )
    }
  }
}

extension FileName {
  /// Whether the kernel takes the name in a directory; one that it doesn't take makes it refuse all of
  /// the page.
  fileprivate var fitsIntoDirectory: Bool {
    !bytes.isEmpty && bytes.count <= Int(CFUSE_NAME_MAX)
      && bytes.allSatisfy { $0 != 0 && $0 != UInt8(ascii: "/") }
  }
}
