internal import Core
internal import Support

/// The names of large directories whose listing goes on over many pages, so that each page doesn't
/// read and sort the whole directory again.
///
/// A directory's mtime changes whenever a name comes or goes. It is trusted only if it lay well in
/// the past when the names were read: within the same tick of the clock a change could hide.
final class NamesCache: Sendable {
  private struct Identity: Hashable {
    let device: UInt64
    let inode: UInt64
  }

  private struct Kept {
    let modified: Timestamp
    let changed: Timestamp
    let names: DirectoryNames
  }

  private let kept = Lock<[(Identity, Kept)]>([])

  /// Bytes of memory, at most.
  private static let memorySizeMax = 64 << 20
  private let countMin: Int
  private let settledAfter: Duration

  /// Creates an empty cache.
  ///
  /// - Parameters:
  ///   - countMin: smaller directories are read again; that costs less than a page's answer.
  ///   - settledAfter: how long ago the last change must have been. Two seconds are the coarsest
  ///     time stamps of the file systems in use (FAT).
  init(countMin: Int = 2000, settledAfter: Duration = .seconds(2)) {
    self.countMin = countMin
    self.settledAfter = settledAfter
  }

  /// True if no names are kept.
  var isEmpty: Bool { kept.withLock { $0.isEmpty } }

  /// The names of a directory, from memory if they can't have changed.
  func names(
    of directory: FileDescriptor,
    isRoot: Bool
  ) throws(DiskFailure) -> DirectoryNames {
    let facts = try FileFacts(of: directory)
    let identity = Identity(device: facts.device, inode: facts.inode)
    let known = kept.withLock { kept in kept.first { $0.0 == identity }?.1 }
    if let known, known.modified == facts.modified, known.changed == facts.changed {
      return known.names
    }
    // The kernel's own clock, which stamped the directory.
    let startedAt = SystemClock().wallTime
    let names = try DirectoryNames(of: directory, isRoot: isRoot)
    let isSettled =
      max(facts.modified, facts.changed).nanoseconds
      < startedAt.nanoseconds - settledAfter.wholeNanoseconds
    if isSettled, names.count >= countMin, names.memorySize <= Self.memorySizeMax {
      keep(Kept(modified: facts.modified, changed: facts.changed, names: names), identity)
    }
    return names
  }

  private func keep(_ new: Kept, _ identity: Identity) {
    kept.withLock { kept in
      kept.removeAll { $0.0 == identity }
      kept.append((identity, new))
      while kept.reduce(0, { $0 + $1.1.names.memorySize }) > Self.memorySizeMax {
        kept.removeFirst()
      }
    }
  }
}
