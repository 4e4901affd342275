internal import Core
internal import Glibc
internal import Support

/// The store's directory and what lies below it, reached name by name.
///
/// No step follows a symbolic link, and no name is `..`, so nothing leads out of the directory,
/// whatever others do to it meanwhile. (openat2's `RESOLVE_BENEATH` would do it in one call, but
/// not on every kernel and not in every sandbox; this needs no second way.)
struct LocalTree {
  /// The store's directory.
  let root: FileDescriptor

  private static let directoryFlags: FileDescriptor.Flags = [.read, .directory, .noFollow]

  /// Opens the directory at `path`; a symbolic link there is followed, because the user named it.
  init(path: String) throws(DiskFailure) {
    root = try FileDescriptor.open(path, [.read, .directory])
  }

  /// Opens the directory that `names` lead to; nil if there is none.
  func directory(_ names: some Sequence<FileName>) throws(DiskFailure) -> FileDescriptor? {
    var current = root
    for name in names {
      guard let next = try Self.child(name, of: current) else { return nil }
      current = next
    }
    return current
  }

  /// Opens the directory `name` of another; nil if there is none, or something else.
  static func child(
    _ name: FileName,
    of directory: FileDescriptor
  ) throws(DiskFailure) -> FileDescriptor? {
    do throws(DiskFailure) {
      return try directory.open(name, directoryFlags)
    } catch  where [ENOENT, ENOTDIR, ELOOP].contains(error.errno) {
      return nil
    }
  }

  /// Opens a regular file for reading, with its facts; nil if there is none.
  ///
  /// It is looked at before it is opened, because opening a device or a pipe may have effects.
  func file(_ key: LocalKey) throws(DiskFailure) -> (FileDescriptor, FileFacts)? {
    guard let parent = try directory(key.directories),
      try FileFacts.of(key.name, in: parent)?.kind == .file
    else { return nil }
    do throws(DiskFailure) {
      let flags: FileDescriptor.Flags = [.read, .noFollow, .init(rawValue: O_NONBLOCK)]
      let file = try parent.open(key.name, flags)
      let facts = try FileFacts(of: file)
      return facts.kind == .file ? (file, facts) : nil
    } catch  where [ENOENT, ELOOP, ENXIO].contains(error.errno) {
      return nil
    }
  }

  /// Opens the directory that `names` lead to, and makes what is missing of it.
  ///
  /// - Returns: the directory, and whether any was made.
  func makeDirectories(
    _ names: [FileName],
    synchronizes: Bool,
    _ call: LocalCall
  ) throws(StoreError) -> (FileDescriptor, isNew: Bool) {
    var current = root
    var isNew = false
    for name in names {
      if let next = try call.attempt({ () throws(DiskFailure) in
        try Self.child(name, of: current)
      }) {
        current = next
        continue
      }
      let parent = current
      if try call.attempt({ () throws(DiskFailure) in try FileFacts.of(name, in: parent) }) != nil {
        throw call.unholdable("\"\(name)\" on the way to it is no directory")
      }
      if !isNew { try call.attempt { () throws(DiskFailure) in try keepMarker(parent) } }
      current = try call.attempt { () throws(DiskFailure) in
        try retrying("make directory \(name)") { mkdirat(parent.number, name.cString, 0o777) }
        if synchronizes { try retrying("sync directory") { fsync(parent.number) } }
        return try parent.open(name, Self.directoryFlags)
      }
      isNew = true
    }
    return (current, isNew)
  }

  /// Removes the directories that `names` lead to, the deepest first, as long as they are empty
  /// and have no marker: a prefix goes with its last key.
  func prune(_ names: [FileName]) throws(DiskFailure) {
    for depth in stride(from: names.count, to: 0, by: -1) {
      guard let parent = try directory(names.prefix(depth - 1)),
        let current = try Self.child(names[depth - 1], of: parent),
        try current.attribute(ObjectAttributes.markerName) == nil
      else { return }
      do throws(DiskFailure) {
        try retrying("remove directory \(names[depth - 1])") {
          unlinkat(parent.number, names[depth - 1].cString, AT_REMOVEDIR)
        }
      } catch  where [ENOTEMPTY, EEXIST, ENOENT, EBUSY].contains(error.errno) {
        return
      }
    }
  }
}

// An object whose key ends in a slash is a directory that has the marker attribute, or that is
// empty: a directory somebody made is to survive, and one that only led to keys is not.
extension LocalTree {
  /// Returns true if the directory is an object.
  static func isMarker(_ directory: FileDescriptor) throws(DiskFailure) -> Bool {
    if try directory.attribute(ObjectAttributes.markerName) != nil { return true }
    return try DirectoryNames.isEmpty(directory)
  }

  /// Opens the directory of a marker, with its facts; nil if there is no such object.
  func marker(_ key: LocalKey) throws(DiskFailure) -> (FileDescriptor, FileFacts)? {
    guard let found = try directory(key.directories + [key.name]), try Self.isMarker(found) else {
      return nil
    }
    return (found, try FileFacts(of: found))
  }

  /// Gives a directory that is an object only because it is empty the marker that keeps it one.
  func keepMarker(_ directory: FileDescriptor) throws(DiskFailure) {
    guard directory !== root, try DirectoryNames.isEmpty(directory) else { return }
    try directory.setAttribute(ObjectAttributes.markerName, [])
  }
}
