internal import Core
internal import Support

/// Directories from which something was removed, and which are to stay although nothing may be left in
/// them.
final class EmptiedDirectories: Sendable {
  private let prefixes = Lock(Set<ObjectKey>())

  /// Something was removed from a directory.
  ///
  /// - Returns: true if that is news.
  func add(_ prefix: ObjectKey) -> Bool { prefixes.withLock { $0.insert(prefix).inserted } }

  /// Somebody takes care of a directory.
  ///
  /// - Returns: false if nobody has to.
  func take(_ prefix: ObjectKey) -> Bool { prefixes.withLock { $0.remove(prefix) != nil } }

  /// Directories below a prefix have another name now.
  func forget(below prefix: ObjectKey) {
    prefixes.withLock { prefixes in prefixes = prefixes.filter { !$0.hasPrefix(prefix) } }
  }

  /// Somebody takes care of all.
  func takeAll() -> Set<ObjectKey> {
    prefixes.withLock { prefixes in
      defer { prefixes = [] }
      return prefixes
    }
  }
}

/// What tells an empty directory from none: an object without bytes whose key is the directory's prefix.
enum DirectoryMarker {
  /// The media type that other tools give such objects.
  static let contentType = "application/x-directory"
}

extension MountedBucket {
  /// How long a directory waits before it is looked at: whoever removes all that is in it, and then it, is
  /// to cost no request for that.
  private static let emptiedDelay = Duration.seconds(1)

  /// Something was removed from a directory: it stays, although nothing may be left in it.
  ///
  /// Here it stays at once, for others when a marker is put into its place, if it was the last.
  func mayHaveEmptied(_ directory: Directory) {
    let prefix = directory.prefix
    guard !queries.store.capabilities.hasDirectories, prefix != options.directoryPrefix else {
      return
    }
    show(prefix, settledAt: nil)
    guard emptied.add(prefix) else { return }
    _ = timers.schedule(after: Self.emptiedDelay) { [weak self] in
      guard let self, emptied.take(prefix) else { return }
      _ = startControlTask { [self] in await keep(prefix) }
    }
  }

  /// Directories that may be empty get their markers now.
  func keepEmptied() async {
    for prefix in emptied.takeAll() { await keep(prefix) }
  }

  /// A directory is there.
  private func show(_ prefix: ObjectKey, settledAt: Instant?) {
    let (parent, component) = prefix.directoryPlace
    let entry = ListingPage.single(directory: component, in: parent, requestedAt: time.now)
    tables.withLock { tables in
      tables.changes[parent, default: NameChanges()].made(entry, settledAt: settledAt)
    }
  }

  private func keep(_ prefix: ObjectKey) async {
    await turns.whileTaken([prefix]) {
      // Removed meanwhile.
      guard isShown(prefix) else { return }
      let result = await contents(of: prefix, by: .distantFuture)
      if case .success(.nothing) = result {
        do throws(StoreError) {
          _ = try await putMarker(prefix, [:], by: .distantFuture)
        } catch {
          return noteUnkept(prefix, error)
        }
      } else if case .failure(let error) = result {
        return noteUnkept(prefix, error)
      }
      show(prefix, settledAt: time.now)
    }
  }

  private func isShown(_ prefix: ObjectKey) -> Bool {
    let (parent, component) = prefix.directoryPlace
    return tables.withLock { tables in
      tables.changes[parent]?.change(of: Array(component), .directory)?.state.entry != nil
    }
  }

  private func noteUnkept(_ prefix: ObjectKey, _ error: StoreError) {
    reporter.note(
      .warning,
      kind: "marker \(prefix)",
      "the directory \"\(prefix)\" may be empty now and is then gone for others: \(error)"
    )
  }

  /// What lies in a directory, as the store says.
  enum DirectoryContents: Sendable {
    /// No key begins with its prefix.
    case nothing
    /// Its marker alone.
    case marker
    /// Other keys, or bytes in its marker.
    case something
  }

  /// Asks what lies in a directory.
  func contents(
    of prefix: ObjectKey,
    by deadline: Instant
  ) async -> Result<DirectoryContents, StoreError> {
    var request = ListRequest(prefix: prefix, isDelimited: false, countMax: 2)
    var course = ListingCourse()
    var hasMarker = false
    while true {
      let page: ListPage
      do throws(StoreError) {
        page = try await queries.store.list(request, context: context(deadline))
      } catch {
        return .failure(error)
      }
      for object in page.objects {
        guard object.key == prefix, object.size == 0 else { return .success(.something) }
        hasMarker = true
      }
      if !page.commonPrefixes.isEmpty { return .success(.something) }
      guard let token = page.nextToken,
        course.goesOn(withToken: token, isNews: !page.objects.isEmpty)
      else {
        return .success(hasMarker ? .marker : .nothing)
      }
      request.continuationToken = token
    }
  }

  /// Stores the marker of a directory, unless there is an object at its prefix.
  ///
  /// - Returns: what the store has then; nil if there was an object.
  func putMarker(
    _ prefix: ObjectKey,
    _ userMetadata: [String: String],
    by deadline: Instant
  ) async throws(StoreError) -> ObjectMetadata? {
    let store = queries.store
    var request = PutRequest(
      key: prefix,
      contentType: DirectoryMarker.contentType,
      userMetadata: userMetadata
    )
    func stored(_ object: ObjectMetadata) -> ObjectMetadata {
      var marker = ObjectMetadata(version: object.version)
      (marker.headers, marker.userMetadata, marker.tagCount) = (request.headers, userMetadata, 0)
      return marker
    }
    if store.capabilities.hasConditionalCreate != false { request.condition = .ifAbsent }
    do throws(StoreError) {
      return stored(try await store.put(request, body: .empty, context: context(deadline)))
    } catch {
      guard error.kind == .alreadyExists || error.kind == .preconditionFailed else { throw error }
      // Some stores take a directory that they have, and show no key for, for an object.
      guard try await isMissing(prefix, by: deadline) else { return nil }
      request.condition = .none
      return stored(try await store.put(request, body: .empty, context: context(deadline)))
    }
  }

  private func isMissing(
    _ key: ObjectKey,
    by deadline: Instant
  ) async throws(StoreError) -> Bool {
    do throws(StoreError) {
      _ = try await queries.store.head(
        key,
        versionID: nil,
        ifMatch: nil,
        context: context(deadline)
      )
      return false
    } catch {
      if error.kind == .notFound { return true }
      throw error
    }
  }
}
