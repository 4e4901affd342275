package import Core
internal import Glibc
internal import Support

/// The bucket of `dipper demo`: a directory with a handful of files, the same every time.
package struct DemoBucket: Hashable, Sendable {
  /// The bucket's directory.
  package let directory: String
  /// Where its mount keeps fetched parts.
  package let cacheDirectory: String
  /// The bucket's address.
  package var url: String { "file://\(directory)" }

  /// The size of the largest object: large enough to see parts, small enough to be made in a moment.
  package static let largestSize = 64 << 20

  /// Where a user's sample is: beside the caches, since it can be made again at any time.
  package static func place(_ environment: [String: String]) -> String {
    MountSettings.cacheDirectory(nil, environment) + "-demo"
  }

  /// Makes the bucket below `place`, or finds the one that was made before.
  ///
  /// It is made under another name and moved in one step, so that one that is there is whole.
  package static func make(in place: String) throws(DiskFailure) -> DemoBucket {
    try makeDirectories(place)
    let bucket = DemoBucket(directory: place + "/bucket", cacheDirectory: place + "/cache")
    if access(bucket.directory + "/README.txt", F_OK) == 0 { return bucket }
    let fresh = "\(place)/bucket.\(getpid())"
    try makeDirectories(fresh)
    for directory in ["notes", "notes/2026", "big"] { try makeDirectories("\(fresh)/\(directory)") }
    for (name, text) in texts { try write(Array(text.utf8), to: "\(fresh)/\(name)") }
    try write(tarArchive, to: "\(fresh)/archive.tar")
    try writeNumbers(to: "\(fresh)/big/numbers.bin")
    try write(lines, to: "\(fresh)/big/lines.txt")
    // Somebody may have been faster; theirs is as good.
    if rename(fresh, bucket.directory) != 0, errno != EEXIST, errno != ENOTEMPTY {
      let number = errno
      throw DiskFailure(
        errno: number,
        action: "move \(fresh) to \(bucket.directory)",
        reason: errnoDescription(number)
      )
    }
    return bucket
  }

  private static let texts: [(name: String, text: String)] = [
    (
      "README.txt",
      """
      This is a bucket kept in a local directory, mounted by Dipper.
      Every file here is an object; reading one fetches its parts into the cache, each once.

      """
    ),
    ("notes/one.txt", "The first note.\n"),
    ("notes/two.txt", "The second note, next to the first.\n"),
    ("notes/2026/three.txt", "A note in a directory of its own.\n"),
    ("notes/with space.txt", "Names are what they are.\n"),
  ]

  private static func makeDirectories(_ path: String) throws(DiskFailure) {
    var made = ""
    for component in path.split(separator: "/") {
      made += "/\(component)"
      if mkdir(made, 0o700) != 0, errno != EEXIST, access(made, F_OK) != 0 {
        let number = errno
        throw DiskFailure(
          errno: number,
          action: "make the directory \(made)",
          reason: errnoDescription(number)
        )
      }
    }
  }

  private static func write(_ bytes: [UInt8], to path: String) throws(DiskFailure) {
    try FileDescriptor.open(path, [.readWrite, .create, .truncate], permissions: 0o644).write(bytes)
  }

  /// 64 MiB that look random and are the same on every machine (SplitMix64, seed 1).
  private static func writeNumbers(to path: String) throws(DiskFailure) {
    let flags: FileDescriptor.Flags = [.readWrite, .create, .truncate]
    let file = try FileDescriptor.open(path, flags, permissions: 0o644)
    var state: UInt64 = 1
    let pieceSize = 1 << 20
    for _ in 0..<(largestSize / pieceSize) {
      let words = [UInt64](unsafeUninitializedCapacity: pieceSize / 8) { buffer, count in
        for index in 0..<(pieceSize / 8) {
          state &+= 0x9E37_79B9_7F4A_7C15
          var word = state
          word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
          word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
          buffer.initializeElement(at: index, to: (word ^ (word >> 31)).littleEndian)
        }
        count = pieceSize / 8
      }
      try words.span.bytes.withUnsafeBytes { (bytes) throws(DiskFailure) in try file.write(bytes) }
    }
  }

  /// A few MiB of numbered lines, for `tail`, `grep` and `wc`.
  private static var lines: [UInt8] {
    var bytes: [UInt8] = []
    for number in 1...100_000 { bytes += Array("line \(number.padded(6)) of 100000\n".utf8) }
    return bytes
  }

  /// The notes as a tar archive.
  ///
  /// Source: POSIX.1-2017, pax, "ustar Interchange Format".
  private static var tarArchive: [UInt8] {
    var archive: [UInt8] = []
    for (name, text) in texts {
      let body = Array(text.utf8)
      archive += tarHeader(name, size: body.count) + body
      archive += [UInt8](repeating: 0, count: (512 - archive.count % 512) % 512)
    }
    return archive + [UInt8](repeating: 0, count: 1024)
  }

  private static func tarHeader(_ name: String, size: Int) -> [UInt8] {
    var header = [UInt8](repeating: 0, count: 512)
    func put(_ text: String, at offset: Int) {
      header.replaceSubrange(offset..<(offset + text.utf8.count), with: Array(text.utf8))
    }
    func octal(_ number: Int, _ width: Int) -> String {
      let digits = String(number, radix: 8)
      return String(repeating: "0", count: width - digits.count) + digits
    }
    put(name, at: 0)
    put(octal(0o644, 7), at: 100)
    put(octal(0, 7), at: 108)
    put(octal(0, 7), at: 116)
    put(octal(size, 11), at: 124)
    // 2026-01-01T00:00:00Z
    put(octal(1_767_225_600, 11), at: 136)
    put("0", at: 156)
    put("ustar\u{0}00", at: 257)
    // The checksum counts its own field as spaces.
    put("        ", at: 148)
    put(octal(header.reduce(0) { $0 + Int($1) }, 6) + "\u{0} ", at: 148)
    return header
  }
}
