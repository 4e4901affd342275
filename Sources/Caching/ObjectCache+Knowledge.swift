package import Core
internal import Support
internal import Transfer

extension ObjectCache {
  /// What the cache knows of the object at `key` without asking the store: of its versions on disk the
  /// one used last; nil if there is none.
  ///
  /// - Complexity: a look at each of the key's versions, of which there is seldom more than one. May
  ///   wait for the disk.
  package func known(_ key: ObjectKey) -> KnownObject? {
    let name = EntryID.keyName(of: key)
    let versions = (try? names(below: EntryID.keyPath(keyName: name))) ?? []
    return versions.compactMap { EntryID(keyName: name, versionName: $0).flatMap(known) }
      .max { $0.lastUsed < $1.lastUsed }
  }

  /// What the cache knows of all objects whose keys start with `prefix`, sorted by key; of each the
  /// version that was used last.
  ///
  /// Looks at every entry once, on a thread for that: a dozen system calls each, 0.25 ms in a debug
  /// build once the disk has read its directories.
  ///
  /// - Parameters:
  ///   - prefix: of the keys.
  ///   - byteCountMax: memory that the answer may take, about; what is more is left out, and the log
  ///     says so.
  /// - Returns: the objects.
  package func knownObjects(
    under prefix: ObjectKey,
    byteCountMax: Int = 64 << 20
  ) async -> [KnownObject] {
    await environment.disk.run { [self] in
      var newest: [ObjectKey: KnownObject] = [:]
      var byteCount = 0
      var leftOutCount = 0
      walk { (id) throws(DiskFailure) in
        guard let object = known(id), object.version.key.hasPrefix(prefix) else { return }
        let key = object.version.key
        if let other = newest[key] {
          if other.lastUsed < object.lastUsed { newest[key] = object }
        } else if byteCount + object.byteCount <= byteCountMax {
          byteCount += object.byteCount
          newest[key] = object
        } else {
          leftOutCount += 1
        }
      }
      if leftOutCount > 0 {
        environment.log.write(
          .warning,
          "\(leftOutCount) objects in the cache are left out: there are too many to list offline"
        )
      }
      return newest.values.sorted { $0.version.key < $1.version.key }
    }
  }

  /// What an entry's checkpoint says; nil if it is not that entry's, or is of a version that was asked
  /// for by its id, which no listing shows.
  private func known(_ id: EntryID) -> KnownObject? {
    let paths = directory.paths(of: id)
    guard directory.isClear(above: id), let checkpoint = paths.checkpoint,
      let identity = PartFile.identity(at: checkpoint),
      identity.store == settings.storeName, EntryID(identity.version) == id,
      identity.version.versionID == nil, identity.version.etag != nil, identity.version.size >= 0,
      let record = try? Disk.status(of: checkpoint),
      let data = try? Disk.status(of: paths.data)
    else { return nil }
    return KnownObject(
      version: identity.version,
      cachedByteCount: min(identity.version.size, data.allocatedByteCount),
      lastUsed: record.modified
    )
  }
}
