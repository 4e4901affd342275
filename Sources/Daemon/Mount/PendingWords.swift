internal import Core
internal import Filesystem
internal import Support

/// Sentences about files that are not stored yet.
enum PendingWords {
  private static let namedCountMax = 3

  /// What an unmount waits for; nil for nothing.
  static func waiting(for files: [PendingFile]) -> String? {
    guard !files.isEmpty else { return nil }
    let byteCount = files.reduce(0) { $0 + $1.dirtyByteCount }
    return "\(count(files)) to be stored, \(ByteSize.describe(byteCount)): \(names(files))"
  }

  /// What an unmount has to tell of what it had to leave; nil for nothing.
  static func unsaved(_ files: [PendingFile], mountpoint: String) -> String? {
    guard let first = files.first else { return nil }
    let reason = first.failure.map { " (\($0))" } ?? ""
    return "\(mountpoint) is unmounted, but \(count(files)) could not be stored: \(names(files))"
      + "\(reason); what was written is kept in \(first.keptAt.utf8.printable) and stored by the next"
      + " mount with this cache directory"
  }

  private static func count(_ files: [PendingFile]) -> String {
    files.count == 1 ? "1 file" : "\(files.count) files"
  }

  private static func names(_ files: [PendingFile]) -> String {
    let named = files.prefix(namedCountMax).map(\.path).joined(separator: ", ")
    return files.count > namedCountMax ? named + " and others" : named
  }
}
