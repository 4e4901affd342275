internal import Caching
internal import Core
internal import Dipper
internal import Support

extension MountPreparation {
  /// A question of taste must not hold up a mount for long.
  private static let prefixPatience = Duration.seconds(5)

  /// What to warn of if the mount's prefix has no keys below it: a mistyped prefix is an empty mount.
  ///
  /// It costs one listing of one key, and nothing for a whole bucket; only of an empty prefix it is
  /// asked besides whether the object of that name exists. A store that can't be asked is not warned of.
  ///
  /// - Throws: `MountFailure` if the prefix is an object, and no directory.
  static func emptyPrefixWarning(
    _ settings: MountSettings,
    of bucket: Bucket
  ) async throws(MountFailure) -> String? {
    guard !settings.url.key.isEmpty, !settings.isOffline else { return nil }
    let prefix = prefix(settings)
    let context = RequestContext(
      deadline: SystemClock().now + min(prefixPatience, settings.deadline),
      retryCountMax: settings.retryCountMax ?? 1
    )
    let request = ListRequest(prefix: prefix, isDelimited: false, countMax: 1)
    let page: ListPage
    do throws(StoreError) {
      page = try await bucket.store.list(request, context: context)
    } catch {
      // Where directories exist by themselves, one that doesn't exist may be told so.
      guard error.kind == .notFound else { return nil }
      page = ListPage(objects: [], commonPrefixes: [], nextToken: nil)
    }
    // A page may be empty although more follows; to read on would cost more than a warning is worth.
    guard page.objects.isEmpty, page.commonPrefixes.isEmpty, page.nextToken == nil else {
      return nil
    }
    let name = settings.url.bucketName
    let key = ObjectKey(settings.url.key)
    if !key.isDirectoryMarker, await exists(key, in: bucket, context) {
      let parent = key.bytes.lastIndex(of: UInt8(ascii: "/")).map { key.bytes[...$0].printable }
      throw MountFailure(
        "\(name)/\(key) is one object, and nothing exists below \"\(prefix)\"; mount "
          + "\(name)/\(parent ?? ""), or fetch the object with 'dipper get'"
      )
    }
    return "nothing exists below \"\(prefix)\" in \(name) yet"
  }

  private static func exists(
    _ key: ObjectKey,
    in bucket: Bucket,
    _ context: RequestContext
  ) async -> Bool {
    do throws(StoreError) {
      _ = try await bucket.store.head(key, versionID: nil, ifMatch: nil, context: context)
      return true
    } catch {
      return false
    }
  }

  /// What to warn of if the cache has nothing to show in an offline mount.
  static func emptyCacheWarning(_ settings: MountSettings, _ known: [KnownObject]) -> String? {
    let prefix = prefix(settings)
    guard !known.contains(where: { $0.version.key.hasPrefix(prefix) }) else { return nil }
    let place = prefix.bytes.isEmpty ? "" : " below \"\(prefix)\""
    return "the cache in \(settings.cacheDirectory.utf8.printable) has nothing of "
      + "\(settings.url.bucketName)\(place), so this offline mount is empty; it shows what an earlier "
      + "mount at the same endpoint, with the same --cache-dir, has fetched"
  }

  /// What all keys of the mount begin with; empty for a whole bucket.
  private static func prefix(_ settings: MountSettings) -> ObjectKey {
    let key = ObjectKey(settings.url.key)
    guard !key.bytes.isEmpty, !key.isDirectoryMarker else { return key }
    return ObjectKey(key.bytes + [UInt8(ascii: "/")])
  }
}
