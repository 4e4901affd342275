internal import Core
internal import Support
internal import Transfer

extension ObjectCache {
  /// An entry that was opened.
  struct Opened {
    let object: Download
    /// Bytes that it takes on the disk.
    let byteCount: Int
    /// There may be entries of other versions.
    let mayHaveOthers: Bool
  }

  /// How an entry was found.
  private enum Standing {
    /// It was made.
    case new
    /// It was there, and there is no other of its key.
    case alone
    /// It was there; of others nothing is known.
    case known
  }

  /// Opens an entry's files, making them if they aren't there.
  ///
  /// - Returns: nil if the disk doesn't let us; it has been logged.
  func makeDownload(
    of version: ObjectVersion,
    _ id: EntryID,
    _ number: UInt64
  ) -> Opened? {
    do throws(PartFile.OpenError) {
      let (file, standing) = try openFile(of: version, id)
      let lease = EntryLease(id, number, of: self)
      let download = Download(
        file,
        from: store,
        in: environment,
        settings: settings.download,
        isVerified: isVerified(id, file),
        observer: lease
      )
      state.withLock { $0.isRefused = false }
      guard standing != .new else {
        return Opened(object: download, byteCount: 0, mayHaveOthers: false)
      }
      // The time of the last use is what the next process evicts by.
      if let path = file.paths.checkpoint { try? Disk.touch(path) }
      return Opened(
        object: download,
        byteCount: (try? file.allocatedByteCount()) ?? 0,
        mayHaveOthers: standing != .alone
      )
    } catch {
      if isNews(error) {
        environment.log.write(
          .warning,
          "an object is read without the cache: \(Self.words(for: error))",
          ["key": "\(version.key)"]
        )
      }
      if case .disk(let failure) = error, failure.isOutOfSpace { startEviction() }
      return nil
    }
  }

  /// A disk that fails is said once, until it works again; what is one entry's, each time.
  private func isNews(_ error: PartFile.OpenError) -> Bool {
    guard case .disk = error else { return true }
    return state.withLock { state in
      defer { state.isRefused = true }
      return !state.isRefused
    }
  }

  /// Setting aside takes one more, making the directory another, and each time that an eviction beside us
  /// takes away the directory above one more; so many would be no accident.
  private static let tryCountMax = 8

  /// Opens an entry's part file; what is damaged is set aside, what was removed is made again.
  private func openFile(
    of version: ObjectVersion,
    _ id: EntryID
  ) throws(PartFile.OpenError) -> (PartFile, Standing) {
    var tryCount = 0
    while true {
      tryCount += 1
      do throws(PartFile.OpenError) {
        let way = try clearWay(to: id)
        // Most files that are opened are new here: for them it's a few calls and no looking around.
        if tryCount == 1, way == .newKey, let file = try makeFile(of: version, id) {
          return (file, .new)
        }
        let file = try PartFile.open(
          directory.paths(of: id),
          identity: identity(of: version),
          time: environment.time,
          faults: faults
        )
        return (file, way == .clear(isAlone: true) ? .alone : .known)
      } catch {
        guard tryCount < Self.tryCountMax else { throw error }
        switch error {
        case .unknownFormat: throw error
        case .disk(let failure) where !failure.isMissing: throw error
        case .disk, .damaged, .foreign, .notPlain: break
        }
        do throws(DiskFailure) {
          try repair(id, after: error)
        } catch  where !error.isMissing {
          throw .disk(error)
        } catch {
          // The directory above went with the last other version in it: it is made again.
        }
      }
    }
  }

  /// Makes the first entry of a key; nil if it turns out not to be the first.
  private func makeFile(
    of version: ObjectVersion,
    _ id: EntryID
  ) throws(PartFile.OpenError) -> PartFile? {
    do throws(DiskFailure) {
      guard try directory.makeNewKey(of: id) else { return nil }
    } catch {
      throw .disk(error)
    }
    return try PartFile.make(
      directory.paths(of: id),
      identity: identity(of: version),
      time: environment.time,
      faults: faults
    )
  }

  /// Sets what lies in the place of one of the entry's directories aside.
  private func clearWay(to id: EntryID) throws(PartFile.OpenError) -> CacheDirectory.Way {
    do throws(DiskFailure) {
      let way = try directory.way(to: id)
      guard case .blocked(let name) = way else { return way }
      try directory.setAsideIntruder(name)
      return .clear(isAlone: false)
    } catch {
      throw .disk(error)
    }
  }

  private func repair(_ id: EntryID, after error: PartFile.OpenError) throws(DiskFailure) {
    switch error {
    case .disk: try directory.makeDirectory(of: id)
    case .unknownFormat: break
    case .damaged, .foreign, .notPlain:
      // Who has claimed the entry is the only one to put files there.
      try directory.setAside(id.path, because: Self.words(for: error)) { true }
    }
  }

  private static func words(for error: PartFile.OpenError) -> String {
    switch error {
    case .disk(let failure): "\(failure)"
    case .unknownFormat(let version): "its checkpoint has format version \(version)"
    case .damaged(let reason): "its checkpoint is damaged: \(reason)"
    case .notPlain(let path, let reason):
      "its \(path.split(separator: "/").last ?? "file") can't be used: \(reason)"
    case .foreign(let identity):
      "its checkpoint is that of \"\(identity.version.key)\" in \(identity.store)"
    }
  }

  /// Evicts the other versions of an object that has a new one.
  func dropOtherVersions(than id: EntryID) {
    environment.disk.submit { [weak self] in
      guard let self,
        let names = try? Disk.names(in: directory.objects + "/" + id.keyPath)
      else { return }
      for name in names where name != id.versionName {
        guard let other = EntryID(keyName: id.keyName, versionName: name) else { continue }
        evict(other)
      }
    }
  }

  /// Whether an entry's data has been verified in this process, and is still the same.
  private func isVerified(_ id: EntryID, _ file: PartFile) -> Bool {
    guard let stamp = state.withLock({ $0.verified[id] }) else { return false }
    return (try? DataStamp(file)) == stamp
  }

  /// Every byte of an open entry has been verified in this process.
  func becameWhole(_ id: EntryID, _ file: PartFile) {
    guard let stamp = try? DataStamp(file) else { return }
    state.withLock { $0.verified[id] = stamp }
  }

  /// Nobody has an entry open any more.
  func leaseEnded(_ id: EntryID, _ number: UInt64) {
    let (isOver, move) = state.withLock { state -> (Bool, VersionMove?) in
      // Opened again in the meantime: that use goes on.
      guard state.slots[id]?.number == number else { return (false, nil) }
      state.slots[id] = nil
      state.index.closed(id, at: environment.time.wallTime)
      let move = state.following.removeValue(forKey: id)
      return (state.index.byteCount > settings.byteCountMax, state.isClosed ? nil : move)
    }
    if let move { environment.disk.submit { [weak self] in self?.follow(move) } }
    if isOver { startEviction() }
  }
}

/// Keeps an entry from being evicted while its object lives, and hears how it grows.
final class EntryLease: DownloadObserver {
  private let id: EntryID
  private let number: UInt64
  private weak let cache: ObjectCache?

  init(_ id: EntryID, _ number: UInt64, of cache: ObjectCache) {
    self.id = id
    self.number = number
    self.cache = cache
  }

  func downloadGrew(_ download: Download, by byteCount: Int) {
    cache?.grew(id, by: byteCount)
  }

  func downloadWasRefused(_ download: Download, _ failure: DiskFailure) {
    if failure.isOutOfSpace { cache?.startEviction() }
  }

  func downloadIsWhole(_ download: Download) {
    cache?.becameWhole(id, download.file)
  }

  deinit {
    cache?.leaseEnded(id, number)
  }
}

/// What shows that a data file is the one that was verified, and that nobody has written to it since.
struct DataStamp: Hashable, Sendable {
  private let identity: [UInt64]
  private let size: Int
  private let modified: Timestamp

  init(_ file: PartFile) throws(DiskFailure) {
    let status = try file.dataStatus()
    identity = status.identity
    size = status.size
    modified = status.modified
  }
}
