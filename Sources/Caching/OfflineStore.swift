package import Core
internal import Support

/// The store of a mount that is offline: it lists what the cache knows, and has no bytes of its own.
///
/// No request leaves. Names are answered from what `learn` was given, so that a file that the cache
/// has nothing of does not exist; bytes that the cache lacks fail at once with `.offline`.
package final class OfflineStore: ObjectStore {
  package let name: String
  private let objects = Lock([KnownObject]())

  /// Creates a store, named as the one it stands for, that knows nothing yet.
  package init(name: String) {
    self.name = name
  }

  package var capabilities: StoreCapabilities {
    var capabilities = StoreCapabilities()
    capabilities.listsInByteOrder = true
    return capabilities
  }

  /// Sets what there is; sorted by key, each key once.
  package func learn(_ known: [KnownObject]) {
    objects.withLock { $0 = known }
  }

  package func head(
    _ key: ObjectKey,
    versionID: String?,
    conditions: ReadConditions,
    context: RequestContext
  ) async throws(StoreError) -> ObjectMetadata {
    let known = objects.withLock { $0 }
    let index = known.firstIndex(behind: { $0 < key })
    guard index < known.count, known[index].version.key == key, versionID == nil else {
      throw StoreError(
        .notFound,
        .headObject,
        key: key,
        message: "the mount is offline, and its cache has nothing of this object"
      )
    }
    let version = known[index].version
    guard conditions.objection(to: version) == nil else {
      throw StoreError(
        .preconditionFailed,
        .headObject,
        key: key,
        message: "the mount is offline, and what its cache has is not what is asked for"
      )
    }
    return ObjectMetadata(version: version)
  }

  package func list(
    _ request: ListRequest,
    context: RequestContext
  ) async throws(StoreError) -> ListPage {
    let known = objects.withLock { $0 }
    var index = known.firstIndex(behind: { key in
      key < request.prefix || request.startAfter.map { !($0 < key) } ?? false
    })
    if let token = request.continuationToken { index = max(index, Int(token) ?? known.count) }
    var page = ListPage(objects: [], commonPrefixes: [], nextToken: nil)
    while index < known.count, known[index].version.key.hasPrefix(request.prefix) {
      guard page.objects.count + page.commonPrefixes.count < max(1, request.countMax) else {
        page.nextToken = String(index)
        break
      }
      let version = known[index].version
      if let common = request.commonPrefix(of: version.key) {
        page.commonPrefixes.append(common)
        index = known.firstIndex(behind: { $0 < common || $0.hasPrefix(common) })
      } else {
        page.objects.append(ObjectMetadata(version: version))
        index += 1
      }
    }
    return page
  }

  package func probe(context: RequestContext) async throws(StoreError) {}

  package func get(
    _ request: GetRequest,
    into sink: any BodySink,
    context: RequestContext
  ) async throws(StoreError) -> GetAnswer {
    throw StoreError(
      .offline,
      .getObject,
      key: request.key,
      message: "the mount is offline, and its cache lacks some of \(request.range.inWords)"
    )
  }
}

extension [KnownObject] {
  /// The index of the first object whose key isn't `before` the place that is looked for; all for
  /// which it holds come first.
  fileprivate func firstIndex(behind isBefore: (ObjectKey) -> Bool) -> Int {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if isBefore(self[middle].version.key) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

extension ListRequest {
  /// The common prefix that a key is grouped under; nil if it is listed itself.
  fileprivate func commonPrefix(of key: ObjectKey) -> ObjectKey? {
    let rest = key.bytes.dropFirst(prefix.bytes.count)
    guard isDelimited, let slash = rest.firstIndex(of: UInt8(ascii: "/")) else { return nil }
    return ObjectKey(key.bytes[...slash])
  }
}
