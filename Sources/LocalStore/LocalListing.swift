internal import Core
internal import Glibc
internal import Support

/// Makes one page of a listing: walks the tree in the byte order of its keys, from where the page
/// begins, and holds the names of no more directories than lie on the way to the current one.
///
/// Everything that says where a page begins is one bound: the least key that may come. Behind a
/// key that is the key with a zero byte; behind a common prefix `a/` it is `a0`, because `0`
/// follows the slash.
struct LocalListing {
  private static let slash = UInt8(ascii: "/")

  private let request: ListRequest
  private let bound: [UInt8]
  private let tree: LocalTree
  private let cache: NamesCache
  private let call: LocalCall
  private var page = ListPage(objects: [], commonPrefixes: [], nextToken: nil)
  private var nextBound: [UInt8] = []

  /// Prepares a page.
  init(
    _ request: ListRequest,
    tree: LocalTree,
    cache: NamesCache,
    call: LocalCall
  ) throws(StoreError) {
    var bound = request.prefix.bytes
    if let token = request.continuationToken {
      guard let next = Self.bound(ofToken: token) else {
        throw call.error(.invalidRequest, "the continuation token is not one of this store's")
      }
      bound = bound.orLater(next)
    } else if let after = request.startAfter {
      bound = bound.orLater(after.bytes + [0])
    }
    self.init(request, bound: bound, tree: tree, cache: cache, call: call)
  }

  private init(
    _ request: ListRequest,
    bound: [UInt8],
    tree: LocalTree,
    cache: NamesCache,
    call: LocalCall
  ) {
    self.request = request
    self.bound = bound
    self.tree = tree
    self.cache = cache
    self.call = call
  }

  /// The page.
  mutating func run() throws(StoreError) -> ListPage {
    let prefix = request.prefix.bytes
    let end = prefix.lastIndex(of: Self.slash).map { $0 + 1 } ?? 0
    let path = Array(prefix[..<end])
    var start = tree.root
    if !path.isEmpty {
      // A prefix that no key can have has no keys.
      guard let names = try? LocalKey(ObjectKey(path)) else { return page }
      let tree = tree
      guard
        let found = try call.attempt({ () throws(DiskFailure) in
          try tree.directory(names.directories + [names.name])
        })
      else { return page }
      start = found
    }
    _ = try walk(start, path)
    return page
  }

  /// Adds the keys of a directory, whose keys all start with `path`; false once the page is full.
  private mutating func walk(
    _ directory: FileDescriptor,
    _ path: [UInt8]
  ) throws(StoreError) -> Bool {
    try call.check()
    let cache = cache
    let names = try call.attempt { () throws(DiskFailure) in
      try cache.names(of: directory, isRoot: path.isEmpty)
    }
    guard try addMarker(directory, path, isEmpty: names.isEmpty) else { return false }
    // What remains of the prefix is the beginning of a name, or nothing.
    let namePrefix = request.prefix.bytes.dropFirst(path.count)
    var index = names.firstIndex(notBefore: firstName(path, namePrefix))
    while index < names.count, names[index].starts(with: namePrefix) {
      let name = names[index]
      index += 1
      let key = path + name
      guard key.count <= LocalKey.keySizeMax else { continue }
      let goesOn =
        name.last == Self.slash
        ? try addDirectory(FileName(name.dropLast()), of: directory, key)
        : try addFile(FileName(name), of: directory, key)
      guard goesOn else { return false }
      if index.isMultiple(of: 256) { try call.check() }
    }
    return true
  }

  /// The least name of a directory with which a key from the bound on can go on.
  private func firstName(
    _ path: [UInt8],
    _ namePrefix: ArraySlice<UInt8>
  ) -> ArraySlice<UInt8> {
    guard bound.starts(with: path) else { return namePrefix }
    let rest = bound[path.count...]
    let name = rest.firstIndex(of: Self.slash).map { rest[...$0] } ?? rest
    return namePrefix.lexicographicallyPrecedes(name) ? name : namePrefix
  }

  private mutating func addMarker(
    _ directory: FileDescriptor,
    _ path: [UInt8],
    isEmpty: Bool
  ) throws(StoreError) -> Bool {
    guard !path.isEmpty, path.starts(with: request.prefix.bytes), isAtOrBehindBound(path) else {
      return true
    }
    let facts = try call.attempt { () throws(DiskFailure) -> FileFacts? in
      let isMarked = try directory.attribute(ObjectAttributes.markerName) != nil
      return isEmpty || isMarked ? try FileFacts(of: directory) : nil
    }
    guard let facts else { return true }
    return add(nextBound: path + [0]) { $0.objects.append(facts.metadata(ObjectKey(path))) }
  }

  private mutating func addFile(
    _ name: FileName,
    of directory: FileDescriptor,
    _ key: [UInt8]
  ) throws(StoreError) -> Bool {
    guard isAtOrBehindBound(key) else { return true }
    let facts = try call.attempt { () throws(DiskFailure) in
      try FileFacts.of(name, in: directory)
    }
    // Gone, or something else by now.
    guard let facts, facts.kind == .file else { return true }
    return add(nextBound: key + [0]) { $0.objects.append(facts.metadata(ObjectKey(key))) }
  }

  private mutating func addDirectory(
    _ name: FileName,
    of directory: FileDescriptor,
    _ key: [UInt8]
  ) throws(StoreError) -> Bool {
    let isPartlyBehind = bound.starts(with: key)
    guard isPartlyBehind || isAtOrBehindBound(key) else { return true }
    guard request.isDelimited else {
      let child = try call.attempt { () throws(DiskFailure) in
        try LocalTree.child(name, of: directory)
      }
      guard let child else { return true }
      return try walk(child, key)
    }
    if isPartlyBehind, bound.count > key.count {
      let inner = ListRequest(prefix: ObjectKey(key), isDelimited: false, countMax: 1)
      var listing = LocalListing(inner, bound: bound, tree: tree, cache: cache, call: call)
      guard try !listing.run().objects.isEmpty else { return true }
    }
    return add(nextBound: key.dropLast() + [Self.slash + 1]) {
      $0.commonPrefixes.append(ObjectKey(key))
    }
  }

  private func isAtOrBehindBound(_ key: [UInt8]) -> Bool {
    !key.lexicographicallyPrecedes(bound)
  }

  /// Adds an entry, or notes that there are more than fit.
  ///
  /// - Parameters:
  ///   - nextBound: where the page behind this entry begins.
  ///   - append: puts the entry on the page.
  /// - Returns: true if it was added.
  private mutating func add(
    nextBound: [UInt8],
    _ append: (inout ListPage) -> Void
  ) -> Bool {
    let count = page.objects.count + page.commonPrefixes.count
    guard count == 0 || count < request.countMax else {
      page.nextToken = Self.token(self.nextBound)
      return false
    }
    append(&page)
    self.nextBound = nextBound
    return true
  }

  /// An opaque token that holds the bound of the next page.
  static func token(_ bound: [UInt8]) -> String {
    bound.reduce(into: "b") { text, byte in
      text += byte < 16 ? "0" : ""
      text += String(byte, radix: 16)
    }
  }

  private static func bound(ofToken token: String) -> [UInt8]? {
    let digits = Array(token.utf8.dropFirst())
    guard token.utf8.first == UInt8(ascii: "b"), digits.count.isMultiple(of: 2) else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: digits.count, by: 2) {
      let text = String(decoding: digits[index...index + 1], as: UTF8.self)
      guard let byte = UInt8(text, radix: 16) else { return nil }
      bytes.append(byte)
    }
    return bytes
  }
}

extension [UInt8] {
  /// The later of two keys.
  fileprivate func orLater(_ other: [UInt8]) -> [UInt8] {
    lexicographicallyPrecedes(other) ? other : self
  }
}
