package import Core
internal import Glibc

/// Files that are read as a whole, such as those of `/proc`, whose size is not known before.
package enum SmallFile {
  /// Returns the file's bytes, at most `countMax` of them.
  package static func read(_ path: String, countMax: Int = 16 << 20) throws(DiskFailure) -> [UInt8]
  {
    let file = try FileDescriptor.open(path, .read)
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 65_536)
    while bytes.count < countMax {
      let count = try retrying("read \(path)") { Glibc.read(file.number, &piece, piece.count) }
      if count == 0 { break }
      bytes += piece.prefix(count)
    }
    return bytes
  }
}
