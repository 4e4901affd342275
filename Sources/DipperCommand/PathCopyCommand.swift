internal import Core
internal import Daemon
internal import Glibc
internal import Support

/// `dipper cp` of two paths of one mount: the mount has the store copy, as it does for any program that asks
/// for copied ranges.
///
/// What the source lacks at the store is stored first. A file that is there already is replaced in one step.
struct PathCopyCommand {
  private let invocation: Invocation
  private let litter = Litter()

  /// What isn't the mount's own business.
  private static let sensible: Set<OptionName> = [
    .progress, .noProgress, .logLevel, .logFile, .logFormat,
  ]

  /// Seconds that a signal waits for the mount at most.
  private static let litterPatience: UInt32 = 2

  init(_ invocation: Invocation) {
    self.invocation = invocation
  }

  func run() throws(Failure) {
    let foreign = invocation.options.keys.filter { !Self.sensible.contains($0) }
    if let name = foreign.min(by: { $0.rawValue < $1.rawValue }) {
      throw Failure(
        "\(name.spelling) can't be had with paths, where the mount's own options count; give URLs instead",
        code: .usage
      )
    }
    try watch()
    let given = invocation.operands[0].bytes
    let found = try find(given)
    guard found.facts.kind == .file else {
      throw failure(given, "it is not a file; 'cp -r' copies a directory on the server as well")
    }
    let source = found.place
    let target = try target(named: source.path.split(separator: UInt8(ascii: "/")).last ?? [])
    guard target.mountpoint == source.mountpoint else {
      throw Failure(
        "\(given.printable) and \(invocation.operands[1].bytes.printable) are in different mounts; give the "
          + "URLs of the two objects",
        code: .usage
      )
    }
    guard target.path != source.path else {
      throw failure(given, "the source and the target are the same file")
    }
    try copy(source.path, to: target.path)
  }

  private func find(_ path: [UInt8]) throws(Failure) -> PathFinder.Found {
    do throws(PathFinder.Miss) {
      return try PathFinder().find(path)
    } catch {
      throw failure(path, error.reason)
    }
  }

  /// Where the copy goes: the path, or one in it if it is a directory.
  private func target(named name: ArraySlice<UInt8>) throws(Failure) -> MountedPath {
    let slash = UInt8(ascii: "/")
    let given = invocation.operands[1].bytes
    let isNamedAsDirectory = given.last == slash
    if let found = try? PathFinder().find(given) {
      guard found.facts.kind == .directory else {
        guard !isNamedAsDirectory, found.facts.kind == .file else {
          throw failure(given, "it is not a directory")
        }
        return found.place
      }
      return try place(found.place.path + [slash] + name, given)
    }
    guard !isNamedAsDirectory else { throw failure(given, "there is no such directory") }
    let end = given.lastIndex(of: slash)
    let directory = end.map { Array(given[...$0]) } ?? Array(".".utf8)
    let found = try find(directory)
    let component = given[(end.map { $0 + 1 } ?? 0)...]
    return try place(found.place.path + [slash] + component, given)
  }

  private func place(_ path: [UInt8], _ given: [UInt8]) throws(Failure) -> MountedPath {
    guard let place = MountedPath(path, in: .current()) else {
      throw failure(given, "it is not in a mount of dipper")
    }
    return place
  }

  private func copy(_ source: [UInt8], to target: [UInt8]) throws(Failure) {
    let origin = source.withPath { open($0, O_RDONLY | O_CLOEXEC) }
    guard origin >= 0 else { throw failure(source, reason(errno)) }
    defer { close(origin) }
    // What only the local disk has of it.
    guard fsync(origin) == 0 else {
      throw failure(source, "what was written to it can't be stored first: \(reason(errno))")
    }
    var status = stat()
    guard fstat(origin, &status) == 0 else { throw failure(source, reason(errno)) }
    let size = Int(status.st_size)
    let isThere = target.withPath { lstat($0, &status) } == 0
    // Beside it until it is whole: a piece of a copy must not take the place of what is there.
    let directory = target[...(target.lastIndex(of: UInt8(ascii: "/")) ?? 0)]
    let name = isThere ? Array(directory) + Array(".dipper-cp-\(getpid())".utf8) : target
    let copy = name.withPath { open($0, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666) }
    guard copy >= 0 else { throw failure(target, reason(errno)) }
    litter.set(name)
    defer { litter.set(nil) }
    if let error = Self.copyRanges(of: origin, size, to: copy) {
      litter.remove()
      close(copy)
      throw failure(source, reason(error), error)
    }
    guard close(copy) == 0 else {
      let error = errno
      litter.remove()
      throw failure(source, "the copy could not be stored: \(reason(error))", error)
    }
    guard isThere else { return }
    let renamed = name.withPath { from in target.withPath { to in rename(from, to) } }
    guard renamed == 0 else {
      let error = errno
      litter.remove()
      throw failure(target, "the copy can't take its place: \(reason(error))", error)
    }
  }

  /// Copies all ranges; returns the error, nil if there is none.
  private static func copyRanges(of source: Int32, _ size: Int, to target: Int32) -> Int32? {
    var offset = 0
    do throws(DiskFailure) {
      while offset < size {
        let count = try FileDescriptor.copyRange(
          from: source,
          at: offset,
          to: target,
          at: offset,
          count: size - offset
        )
        // It has become shorter meanwhile.
        if count == 0 { return ESTALE }
        offset += count
      }
      return nil
    } catch {
      return error.errno
    }
  }

  /// Takes an unfinished copy away when a signal ends the program.
  private func watch() throws(Failure) {
    // Before there is a second thread: all of them leave these signals to the watch.
    do throws(DiskFailure) {
      try SignalWatch.start([.interrupt, .terminate]) { [litter] signal in
        let isRemoving = Thread.start("dipper-litter") {
          litter.remove()
          Thread.exitProcess(128 + signal.number)
        }
        // The mount removes it behind what it is storing, also if nobody waits for that.
        if isRemoving { sleep(Self.litterPatience) }
        Thread.exitProcess(128 + signal.number)
      }
    } catch {
      throw Failure("\(error)")
    }
  }

  private func reason(_ error: Int32) -> String {
    switch error {
    case ESTALE: "it was replaced or removed meanwhile"
    case EOPNOTSUPP, EXDEV, EINVAL, ENOSYS:
      "the mount can't have the store copy it (\(errnoDescription(error))); 'cp' copies it through this "
        + "machine"
    default: "\(errnoDescription(error)); 'dipper status' has the store's reason"
    }
  }

  private func failure(_ path: [UInt8], _ reason: String, _ error: Int32 = 0) -> Failure {
    Failure(
      "\(path.printable) can't be copied: \(reason)",
      code: error == ESTALE ? .sourceChanged : .failed
    )
  }
}

/// The name of a copy that isn't whole yet; none before it is made.
private final class Litter: Sendable {
  private let path = Lock([UInt8]?.none)

  func set(_ path: [UInt8]?) { self.path.withLock { $0 = path } }

  func remove() { _ = path.withLock { $0 }?.withPath { unlink($0) } }
}

extension [UInt8] {
  /// Calls `body` with the bytes as a path of C's.
  fileprivate func withPath<Answer>(_ body: (UnsafePointer<CChar>) -> Answer) -> Answer {
    (map { CChar(bitPattern: $0) } + [0]).withUnsafeBufferPointer { buffer in
      // An array that has at least its end has a base address.
      guard let start = buffer.baseAddress else { return body("") }
      return body(start)
    }
  }
}
