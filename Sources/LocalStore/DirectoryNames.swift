internal import Core
internal import Glibc
internal import Support

/// The names of one directory in the order in which the keys below them come.
///
/// Keys are listed in byte order, and a directory's keys go on with a slash: `a-b` comes before
/// `a/b`. So a directory is sorted by its name with a slash behind it. The names lie in one buffer,
/// about 8 bytes beside each, because a directory may have a million of them.
struct DirectoryNames: Sendable {
  private struct Entry {
    var start: UInt32
    var count: UInt16
  }

  private var bytes: [UInt8] = []
  private var entries: [Entry] = []

  /// True if the directory has nothing at all, not even what is no object.
  private(set) var isEmpty = true

  /// Creates an empty list.
  private init() {}

  /// The number of files and directories.
  var count: Int { entries.count }

  /// Bytes of memory.
  var memorySize: Int { bytes.count + entries.count * MemoryLayout<Entry>.stride }

  /// A name; one of a directory ends in a slash.
  subscript(index: Int) -> ArraySlice<UInt8> {
    let entry = entries[index]
    return bytes[Int(entry.start)..<Int(entry.start) + Int(entry.count)]
  }

  /// The index of the first name that is not before `name`.
  func firstIndex(notBefore name: some Sequence<UInt8>) -> Int {
    let name = Array(name)
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      if self[middle].lexicographicallyPrecedes(name) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Reads and sorts a directory's files and directories.
  ///
  /// - Parameters:
  ///   - directory: the open directory.
  ///   - isRoot: true to leave the store's own directory out.
  /// - Throws: `DiskFailure`.
  init(of directory: FileDescriptor, isRoot: Bool) throws(DiskFailure) {
    try Self.forEach(in: directory) { (name, type) throws(DiskFailure) in
      isEmpty = false
      if isRoot, name.elementsEqual(LocalKey.privateName.bytes) { return true }
      guard let isDirectory = try Self.isDirectory(name, type, directory) else { return true }
      guard bytes.count + name.count < Int(UInt32.max) else {
        throw DiskFailure(errno: EOVERFLOW, action: "list a directory", reason: "4 GiB of names")
      }
      let start = UInt32(bytes.count)
      bytes.append(contentsOf: name)
      if isDirectory { bytes.append(UInt8(ascii: "/")) }
      entries.append(Entry(start: start, count: UInt16(bytes.count - Int(start))))
      return true
    }
    bytes.withUnsafeBytes { buffer in
      entries.sort { left, right in
        guard let base = buffer.baseAddress else { return false }
        let order = memcmp(
          base + Int(left.start),
          base + Int(right.start),
          Int(min(left.count, right.count))
        )
        return order == 0 ? left.count < right.count : order < 0
      }
    }
  }

  /// Returns true if there is nothing in the directory.
  static func isEmpty(_ directory: FileDescriptor) throws(DiskFailure) -> Bool {
    var isEmpty = true
    try forEach(in: directory) { (_, _) throws(DiskFailure) in
      isEmpty = false
      return false
    }
    return isEmpty
  }

  /// Calls `body` with each name but `.` and `..`, and with its type, until it returns false.
  static func forEach(
    in directory: FileDescriptor,
    _ body: (UnsafeRawBufferPointer, UInt8) throws(DiskFailure) -> Bool
  ) throws(DiskFailure) {
    // A descriptor of its own, so that two readers don't share one position.
    let own = try directory.open(FileName("."), [.read, .directory])
    let duplicate = try retrying("duplicate a descriptor") { dup(own.number) }
    guard let stream = fdopendir(duplicate) else {
      let number = Glibc.errno
      close(duplicate)
      throw DiskFailure(
        errno: number,
        action: "list a directory",
        reason: errnoDescription(number)
      )
    }
    defer { closedir(stream) }
    while true {
      Glibc.errno = 0
      guard let entry = readdir(stream) else {
        let number = Glibc.errno
        guard number != 0 else { return }
        throw DiskFailure(
          errno: number,
          action: "list a directory",
          reason: errnoDescription(number)
        )
      }
      let offset = MemoryLayout<dirent>.offset(of: \.d_name) ?? 0
      let start = UnsafeRawPointer(entry) + offset
      let name = UnsafeRawBufferPointer(
        start: start,
        count: strlen(start.assumingMemoryBound(to: CChar.self))
      )
      if name.elementsEqual([46]) || name.elementsEqual([46, 46]) { continue }
      guard try body(name, entry.pointee.d_type) else { return }
    }
  }

  /// Returns whether a name is a directory's; nil if it is neither a directory's nor a file's.
  private static func isDirectory(
    _ name: UnsafeRawBufferPointer,
    _ type: UInt8,
    _ directory: FileDescriptor
  ) throws(DiskFailure) -> Bool? {
    switch Int(type) {
    case Int(DT_DIR): return true
    case Int(DT_REG): return false
    case Int(DT_UNKNOWN):
      switch try FileFacts.of(FileName(name), in: directory)?.kind {
      case .directory: return true
      case .file: return false
      case .other, nil: return nil
      }
    default: return nil
    }
  }
}
