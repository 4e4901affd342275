internal import Core
internal import Dipper
internal import Support

extension MountPreparation {
  /// A question of taste must not hold up a mount for long.
  private static let prefixPatience = Duration.seconds(5)

  /// What to warn of if the mount's prefix has no keys below it: a mistyped prefix is an empty mount.
  ///
  /// It costs one listing of one key, and nothing for a whole bucket. A store that can't be asked is
  /// not warned of.
  static func emptyPrefixWarning(_ settings: MountSettings, of bucket: Bucket) async -> String? {
    guard !settings.url.key.isEmpty else { return nil }
    let key = ObjectKey(settings.url.key)
    let prefix = key.isDirectoryMarker ? key : ObjectKey(key.bytes + [UInt8(ascii: "/")])
    let context = RequestContext(
      deadline: SystemClock().now + min(prefixPatience, settings.deadline),
      retryCountMax: settings.retryCountMax ?? 1
    )
    let request = ListRequest(prefix: prefix, isDelimited: false, countMax: 1)
    let page: ListPage
    do throws(StoreError) {
      page = try await bucket.store.list(request, context: context)
    } catch {
      return nil
    }
    // A page may be empty although more follows; to read on would cost more than a warning is worth.
    guard page.objects.isEmpty, page.commonPrefixes.isEmpty, page.nextToken == nil else {
      return nil
    }
    return "nothing exists below \"\(prefix)\" in \(settings.url.bucketName) yet"
  }
}
