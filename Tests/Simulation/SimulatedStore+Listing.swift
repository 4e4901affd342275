package import Core
internal import Support

extension SimulatedStore {
  package func list(
    _ request: ListRequest,
    context: RequestContext
  ) async throws(StoreError) -> ListPage {
    let call = Call(.listObjects, key: request.prefix, context: context)
    let countMax = max(1, min(request.countMax, behaviour.pageCountMax))
    let isTreeOrder = behaviour.listsInTreeOrder
    let hidesItself = behaviour.hasDirectories
    return try await perform(call, context: context) { (state: inout State) throws(StoreError) in
      var walk = ListingWalk(
        keys: state.keysInOrder(isTreeOrder: isTreeOrder),
        request: request,
        isTreeOrder: isTreeOrder
      )
      guard var page = walk.page(countMax: countMax, facts: { state.objects[$0] }) else {
        throw StoreError(
          .invalidRequest,
          .listObjects,
          key: request.prefix,
          status: 400,
          code: "InvalidArgument",
          message: "the continuation token is not one of this store's"
        )
      }
      if hidesItself { page.objects.removeAll { $0.key == request.prefix } }
      return page
    }
  }
}

extension SimulatedStore.State {
  /// All keys in the order in which they are listed, kept until one comes or goes.
  fileprivate mutating func keysInOrder(isTreeOrder: Bool) -> [ObjectKey] {
    if let sortedKeys { return sortedKeys }
    let sorted = objects.keys.sorted { ListingWalk.precedes($0, $1, isTreeOrder: isTreeOrder) }
    sortedKeys = sorted
    return sorted
  }
}

/// Makes one page out of sorted keys.
struct ListingWalk {
  private static let slash = UInt8(ascii: "/")

  let keys: [ObjectKey]
  let request: ListRequest
  let isTreeOrder: Bool

  /// The order of a listing: by bytes, or with `/` before all other bytes.
  static func precedes(_ left: ObjectKey, _ right: ObjectKey, isTreeOrder: Bool) -> Bool {
    guard isTreeOrder else { return left < right }
    return left.bytes.lazy.map(treeRank)
      .lexicographicallyPrecedes(right.bytes.lazy.map(treeRank))
  }

  private static func treeRank(_ byte: UInt8) -> Int { byte == slash ? -1 : Int(byte) }

  /// One page; nil if the token is not one of ours.
  mutating func page(
    countMax: Int,
    facts: (ObjectKey) -> SimulatedStore.Object?
  ) -> ListPage? {
    guard var index = start() else { return nil }
    var page = ListPage(objects: [], commonPrefixes: [], nextToken: nil)
    var last: ObjectKey?
    while index < keys.count, keys[index].hasPrefix(request.prefix) {
      if page.objects.count + page.commonPrefixes.count == countMax, let last {
        page.nextToken = Self.token(last)
        break
      }
      let key = keys[index]
      if let common = commonPrefix(of: key) {
        page.commonPrefixes.append(common)
        last = common
        index = firstIndex(behind: common)
      } else {
        if let object = facts(key) { page.objects.append(object.listedMetadata(key)) }
        last = key
        index += 1
      }
    }
    return page
  }

  private func start() -> Int? {
    let first = lowerBound { !precedes($0, request.prefix) }
    if let token = request.continuationToken {
      guard let last = Self.key(ofToken: token) else { return nil }
      let isCommon = request.isDelimited && commonPrefix(of: last) != nil
      return max(first, isCommon ? firstIndex(behind: last) : lowerBound { precedes(last, $0) })
    }
    guard let after = request.startAfter else { return first }
    return max(first, lowerBound { precedes(after, $0) })
  }

  private func precedes(_ left: ObjectKey, _ right: ObjectKey) -> Bool {
    Self.precedes(left, right, isTreeOrder: isTreeOrder)
  }

  private func commonPrefix(of key: ObjectKey) -> ObjectKey? {
    guard request.isDelimited else { return nil }
    let rest = key.bytes.dropFirst(request.prefix.bytes.count)
    guard let end = rest.firstIndex(of: Self.slash) else { return nil }
    return ObjectKey(key.bytes[...end])
  }

  /// The first key that doesn't start with `prefix` but comes behind those that do.
  private func firstIndex(behind prefix: ObjectKey) -> Int {
    lowerBound { precedes(prefix, $0) && !$0.hasPrefix(prefix) }
  }

  /// The index of the first key for which `isBehind` is true; it is true for all that follow.
  private func lowerBound(_ isBehind: (ObjectKey) -> Bool) -> Int {
    var low = 0
    var high = keys.count
    while low < high {
      let middle = (low + high) / 2
      if isBehind(keys[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }

  /// An opaque token that names the last entry of a page.
  private static func token(_ last: ObjectKey) -> String {
    last.bytes.reduce(into: "t") { text, byte in
      text += byte < 16 ? "0" : ""
      text += String(byte, radix: 16)
    }
  }

  private static func key(ofToken token: String) -> ObjectKey? {
    guard token.first == "t" else { return nil }
    let digits = Array(token.dropFirst())
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: digits.count - 1, by: 2) {
      guard let byte = UInt8(String(digits[index...index + 1]), radix: 16) else { return nil }
      bytes.append(byte)
    }
    return ObjectKey(bytes)
  }
}
