/// What `/proc` tells of the descriptors of a process, which may be another's.
package enum ProcessDescriptors {
  /// The numbers that are looked at: shells copy a file's descriptor to one of the first.
  private static let numbers = 0..<32

  /// Looks for a descriptor by which a process may write to a file.
  ///
  /// No file system but `/proc` is asked.
  ///
  /// - Parameters:
  ///   - inodeNumber: the file's `st_ino`, which no other file must have.
  ///   - process: the id of the process, or of one of its threads.
  /// - Returns: true if it has one. False as well if that can't be seen: the process is another user's, or in
  ///   a namespace of its own, the kernel is older than 5.14, or the descriptor has a number of 32 or more.
  package static func hasWriter(of inodeNumber: UInt64, in process: Int32) -> Bool {
    numbers.contains { number in
      guard let text = try? SmallFile.read("/proc/\(process)/fdinfo/\(number)", countMax: 4096)
      else { return false }
      return isWriter(text, of: inodeNumber)
    }
  }

  /// True if what `/proc/PID/fdinfo/N` says is of a descriptor that may write to a file.
  // Source: proc(5): "flags" is octal, and its last two bits are the access mode; "ino" is decimal.
  static func isWriter(_ text: [UInt8], of inodeNumber: UInt64) -> Bool {
    var flags: UInt64?
    var found: UInt64?
    for line in text.split(separator: UInt8(ascii: "\n")) {
      let words = String(decoding: line, as: UTF8.self).split(whereSeparator: { $0 == "\t" })
      guard words.count == 2 else { continue }
      switch words[0] {
      case "flags:": flags = UInt64(words[1], radix: 8)
      case "ino:": found = UInt64(words[1])
      default: continue
      }
    }
    guard let flags, let found else { return false }
    return flags & 0o3 != 0 && found == inodeNumber
  }
}
