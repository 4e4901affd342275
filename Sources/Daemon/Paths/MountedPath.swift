package import Core
internal import Glibc
package import Support

/// A path of a mount of dipper's: which mount, and the names from its root on.
package struct MountedPath: Hashable, Sendable {
  /// The mount's path, as the kernel spells it.
  package let mountpoint: String
  /// The absolute path without links.
  package let path: [UInt8]

  /// Finds the mount of an absolute path without links; nil if it isn't one of dipper's.
  package init?(_ path: [UInt8], in table: MountTable) {
    guard let entry = Self.mount(of: path, in: table), entry.isDipper else { return nil }
    mountpoint = entry.mountpoint
    self.path = path
  }

  /// The path below the mount's root: names with slashes between them; empty for the root.
  package var relative: [UInt8] { relative(path) }

  /// The same of a path below this one.
  package func relative(_ path: [UInt8]) -> [UInt8] {
    let root = mountpoint == "/" ? 0 : mountpoint.utf8.count
    return Array(path.dropFirst(root).drop { $0 == UInt8(ascii: "/") })
  }

  /// The mount that holds a path: the one with the longest mountpoint, of equal ones the last.
  package static func mount(of path: [UInt8], in table: MountTable) -> MountTable.Entry? {
    var best: MountTable.Entry?
    for entry in table.entries {
      let root = Array(entry.mountpoint.utf8)
      let isAbove =
        root == [UInt8(ascii: "/")] || path == root
        || path.starts(with: root + [UInt8(ascii: "/")])
      if isAbove, root.count >= best?.mountpoint.utf8.count ?? 0 { best = entry }
    }
    return best
  }
}

/// Looks at files by paths that are bytes; any of it may wait for the file system behind them.
package enum PathLook {
  /// What a path leads to.
  package struct Facts: Hashable, Sendable {
    /// What it is.
    package var kind: Kind
    /// Its size in bytes, if it is a file.
    package var size: Int
    /// The number of its file system.
    package var device: UInt64

    /// What a path can lead to.
    package enum Kind: Hashable, Sendable {
      /// A file.
      case file
      /// A directory.
      case directory
      /// Something without bytes of its own.
      case other
    }
  }

  /// The absolute path without links.
  package static func resolve(_ path: [UInt8]) throws(DiskFailure) -> [UInt8] {
    guard let resolved = withCString(path, { realpath($0, nil) }) else {
      throw failure("find", path)
    }
    defer { free(resolved) }
    return Array(UnsafeRawBufferPointer(start: resolved, count: strlen(resolved)))
  }

  /// What is at a path; a link is not followed.
  package static func facts(_ path: [UInt8]) throws(DiskFailure) -> Facts {
    var status = stat()
    guard withCString(path, { lstat($0, &status) }) == 0 else { throw failure("look at", path) }
    let kind: Facts.Kind =
      switch status.st_mode & S_IFMT {
      case S_IFREG: .file
      case S_IFDIR: .directory
      default: .other
      }
    return Facts(kind: kind, size: Int(status.st_size), device: UInt64(status.st_dev))
  }

  /// Calls `body` with each name in a directory, as the file system gives them, until it returns
  /// false.
  package static func eachName(
    in path: [UInt8],
    _ body: ([UInt8]) -> Bool
  ) throws(DiskFailure) {
    guard let directory = withCString(path, { opendir($0) }) else {
      throw failure("read the directory", path)
    }
    defer { closedir(directory) }
    while true {
      errno = 0
      guard let entry = readdir(directory) else { break }
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
      if name == [0x2E] || name == [0x2E, 0x2E] { continue }
      guard body(name) else { return }
    }
    guard errno == 0 else { throw failure("read the directory", path) }
  }

  private static func withCString<Result>(
    _ path: [UInt8],
    _ body: (UnsafePointer<CChar>) -> Result
  ) -> Result {
    // What follows a NUL could not be meant; no path from the kernel has one.
    (path + [0]).withUnsafeBytes { bytes in
      bytes.withMemoryRebound(to: CChar.self) { characters in
        characters.baseAddress.map(body) ?? body("")
      }
    }
  }

  private static func failure(_ action: String, _ path: [UInt8]) -> DiskFailure {
    let number = errno
    return DiskFailure(
      errno: number,
      action: "\(action) \(path.printable)",
      reason: errnoDescription(number)
    )
  }
}
