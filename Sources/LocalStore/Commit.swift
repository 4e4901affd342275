internal import Core
internal import Glibc
internal import Support

/// Makes finished files objects and takes objects away: all that changes names that others see.
///
/// All of it happens with the names locked.
struct Commit {
  let tree: LocalTree
  let workspace: Workspace
  /// True to wait until the names are on the disk.
  let synchronizes: Bool
  let call: LocalCall

  /// Makes a finished file the object at `key`.
  ///
  /// - Parameters:
  ///   - staged: the file.
  ///   - key: where it goes.
  ///   - condition: on what condition it may replace what is there.
  ///   - precondition: throws if it may not after all; runs with the names locked.
  ///   - afterwards: runs with the names still locked.
  /// - Returns: the facts of the new object's file.
  /// - Throws: `StoreError`.
  func publish(
    _ staged: StagedFile,
    as key: LocalKey,
    condition: WriteCondition,
    precondition: () throws(StoreError) -> Void = {},
    afterwards: () throws(StoreError) -> Void = {}
  ) throws(StoreError) -> FileFacts {
    let lock = try workspace.lockNames(call)
    defer { withExtendedLifetime(lock) {} }
    try precondition()
    // Looked at before anything is made, so that a failed condition leaves no directories.
    let current = try current(key)
    try check(condition, current, key)
    try checkRoom(for: key)
    let (directory, isNew) = try tree.makeDirectories(
      key.directories,
      synchronizes: synchronizes,
      call
    )
    do throws(StoreError) {
      try call.attempt { () throws(DiskFailure) in
        if !isNew, current == nil { try tree.keepMarker(directory) }
        // Who could read the old version may read the new one, and nobody else.
        if let current {
          try retrying("set permissions") {
            fchmod(staged.descriptor.number, current.permissions)
          }
        }
      }
      try move(staged, to: directory, as: key, replaces: current != nil, condition)
    } catch {
      if isNew { try? tree.prune(key.directories) }
      throw error
    }
    try afterwards()
    return try call.attempt { () throws(DiskFailure) in
      if synchronizes { try retrying("sync directory") { fsync(directory.number) } }
      return try FileFacts(of: staged.descriptor)
    }
  }

  private func move(
    _ staged: StagedFile,
    to directory: FileDescriptor,
    as key: LocalKey,
    replaces: Bool,
    _ condition: WriteCondition
  ) throws(StoreError) {
    do throws(DiskFailure) {
      try staged.move(to: directory, as: key.name, replaces: replaces)
    } catch {
      // Somebody who doesn't know of the lock made a file just now.
      guard error.errno == EEXIST else { throw call.failure(error) }
      guard condition == .none else { throw alreadyExists }
      try call.attempt { () throws(DiskFailure) in
        try staged.move(to: directory, as: key.name, replaces: true)
      }
    }
  }

  /// Makes a directory the object at `key`, which ends in a slash.
  func publishMarker(
    _ key: LocalKey,
    _ attributes: ObjectAttributes,
    condition: WriteCondition
  ) throws(StoreError) -> FileFacts {
    let lock = try workspace.lockNames(call)
    defer { withExtendedLifetime(lock) {} }
    let current = try call.attempt { () throws(DiskFailure) in try tree.marker(key)?.1 }
    try check(condition, current, key)
    let (directory, _) = try tree.makeDirectories(
      key.directories + [key.name],
      synchronizes: synchronizes,
      call
    )
    return try call.attempt { () throws(DiskFailure) in
      try ObjectAttributes.remove(from: directory)
      try directory.setAttribute(ObjectAttributes.markerName, [])
      try attributes.set(on: directory)
      if synchronizes { try retrying("sync directory") { fsync(directory.number) } }
      return try FileFacts(of: directory)
    }
  }

  /// Takes the object at `key` away, with the directories that led to nothing else.
  func remove(_ key: LocalKey, ifMatch: ETag?) throws(StoreError) {
    let lock = try workspace.lockNames(call)
    defer { withExtendedLifetime(lock) {} }
    guard let current = try current(key) else { return }
    if let ifMatch, ifMatch != current.etag { throw call.changed(key.key) }
    try call.attempt { () throws(DiskFailure) in
      guard let parent = try tree.directory(key.directories) else { return }
      if key.isMarker {
        guard let directory = try LocalTree.child(key.name, of: parent) else { return }
        try ObjectAttributes.remove(from: directory)
        try tree.prune(key.directories + [key.name])
      } else {
        try retrying("remove \(key.name)") { unlinkat(parent.number, key.name.cString, 0) }
        if synchronizes { try retrying("sync directory") { fsync(parent.number) } }
        try tree.prune(key.directories)
      }
    }
  }

  /// The facts of the object at `key`; nil if there is none.
  private func current(_ key: LocalKey) throws(StoreError) -> FileFacts? {
    try call.attempt { () throws(DiskFailure) in
      if key.isMarker { return try tree.marker(key)?.1 }
      guard let parent = try tree.directory(key.directories),
        let facts = try FileFacts.of(key.name, in: parent), facts.kind == .file
      else { return nil }
      return facts
    }
  }

  /// Throws if something that is no object has the name.
  private func checkRoom(for key: LocalKey) throws(StoreError) {
    let kind = try call.attempt { () throws(DiskFailure) -> FileFacts.Kind? in
      guard let parent = try tree.directory(key.directories) else { return nil }
      return try FileFacts.of(key.name, in: parent)?.kind
    }
    switch kind {
    case .file, nil: break
    case .directory: throw call.unholdable("it is the directory of other keys")
    case .other: throw call.unholdable("a symbolic link or special file has its name")
    }
  }

  private func check(
    _ condition: WriteCondition,
    _ current: FileFacts?,
    _ key: LocalKey
  ) throws(StoreError) {
    switch condition {
    case .none: break
    case .ifAbsent: if current != nil { throw alreadyExists }
    case .ifMatch(let etag):
      guard let current else { throw call.notFound(key.key) }
      guard current.etag == etag else { throw call.changed(key.key) }
    }
  }

  private var alreadyExists: StoreError {
    call.error(.alreadyExists, "there is an object already")
  }
}
