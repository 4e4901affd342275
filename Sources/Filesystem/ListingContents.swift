internal import Core

/// What has arrived of a directory's listing: rows in the order of their arrival, found by name.
///
/// Rows never move, so a position is a cookie for `readdir`. An object is held back until the
/// listing has passed the place where a directory of its name would be (`a`, `a-1`, `a-2`, `a/`):
/// the directory would take the name from it.
struct ListingContents: Sendable {
  /// A key that the listing can't show, and why.
  struct Rejection: Sendable {
    let key: ObjectKey
    let reason: String
  }

  let prefix: ObjectKey
  private let digest: NameDigest
  private var pages: [ListingPage] = []
  /// The position of each page's first row.
  private var starts: [Int] = []
  /// The number of directories before each page.
  private var directoryStarts: [Int] = []
  /// The number of rows.
  private(set) var count = 0
  /// Rows by component and kind, and those with names that show only a beginning by digest too.
  private var index = CompactIndex()
  private var directoryCount = 0
  private var pagesByteCount = 0
  /// At most one for each beginning of the last key, since all of them are that.
  private var heldBack: [ObjectMetadata] = []

  init(prefix: ObjectKey, digest: NameDigest) {
    self.prefix = prefix
    self.digest = digest
  }

  /// The bytes of memory that it takes.
  var byteCount: Int {
    index.byteCount + pagesByteCount + pages.capacity * 24
      + heldBack.count * Self.heldBackByteCount
  }

  /// An object's metadata with its key and tag, roughly.
  private static let heldBackByteCount = 512

  /// The number of objects that wait for the listing to go on.
  var heldBackCount: Int { heldBack.count }

  /// Adds a page of the store's listing and returns the keys of it that can't be shown.
  mutating func append(
    _ page: ListPage,
    requestedAt: Instant,
    isLast: Bool
  ) -> [Rejection] {
    // It tells nothing of how far the listing has come, so what is held back stays.
    if page.objects.isEmpty, page.commonPrefixes.isEmpty, !isLast { return [] }
    var intake = Intake(prefix: prefix, requestedAt: requestedAt)
    let directoryStart = directoryCount
    for common in page.commonPrefixes { addDirectory(common, to: &intake) }
    let lastKey = isLast ? nil : max(page.objects.last?.key, page.commonPrefixes.last)
    let waiting = heldBack + page.objects
    heldBack = []
    for object in waiting {
      if let lastKey, mayBecomeShadowed(object.key, lastKey) {
        if !heldBack.contains(where: { $0.key == object.key }) { heldBack.append(object) }
      } else {
        addObject(object, to: &intake)
      }
    }
    if intake.builder.count > 0 {
      starts.append(count)
      directoryStarts.append(directoryStart)
      count += intake.builder.count
      let page = intake.builder.build()
      pagesByteCount += page.byteCount
      pages.append(page)
    }
    return intake.rejections
  }

  /// The row at a position.
  func entry(at position: Int) -> Entry? {
    guard position >= 0, position < count else { return nil }
    let page = pageIndex(of: position)
    return Entry(page: pages[page], row: UInt32(position - starts[page]))
  }

  /// A directory's place among the directories, 0 for the first, by the order of their arrival.
  func directoryRank(of component: ArraySlice<UInt8>) -> Int? {
    position(of: component, .directory).map { position in
      let page = pageIndex(of: position)
      // A page's directories come before its files.
      return directoryStarts[page] + position - starts[page]
    }
  }

  private func pageIndex(of position: Int) -> Int {
    var low = 0
    var high = starts.count
    while low + 1 < high {
      let middle = (low + high) / 2
      if starts[middle] <= position { low = middle } else { high = middle }
    }
    return low
  }

  /// The child with this component and kind.
  func entry(_ component: ArraySlice<UInt8>, _ kind: FileKind) -> Entry? {
    position(of: component, kind).flatMap { entry(at: $0) }
  }

  /// The position of the child with this component and kind.
  func position(of component: ArraySlice<UInt8>, _ kind: FileKind) -> Int? {
    if kind == .directory, directoryCount == 0 { return nil }
    return index.first(tag: Entry.tag(component, kind)) { isRow(Int($0), component, kind) }
      .map { Int($0) }
  }

  private func isRow(_ position: Int, _ component: ArraySlice<UInt8>, _ kind: FileKind) -> Bool {
    guard let entry = entry(at: position) else { return false }
    return entry.kind == kind && entry.component == component
  }

  /// The child that a name means.
  func entry(for meaning: NameCodec.Meaning) -> Entry? {
    switch meaning {
    case .child(let child): entry(for: child)
    case .long(let name): component(of: name).flatMap { entry(for: name.child($0)) }
    }
  }

  /// The component that a name shows the beginning of.
  func component(of name: NameCodec.LongName) -> [UInt8]? {
    let position = index.first(tag: Self.tag(ofDigits: name.digits)) { position in
      entry(at: Int(position)).map { name.isName(of: $0.component, digest) } ?? false
    }
    return position.flatMap { entry(at: Int($0)) }.map { Array($0.component) }
  }

  private static func tag(ofDigits digits: ArraySlice<UInt8>) -> UInt32 {
    Entry.tag(digits, .file)
  }

  private func entry(for child: NameCodec.Child) -> Entry? {
    let component = child.component[...]
    let directory = entry(component, .directory)
    if child.isShadowedObject {
      return directory != nil || component.isEmpty ? entry(component, .file) : nil
    }
    return directory ?? (component.isEmpty ? nil : entry(component, .file))
  }

  /// What a row's name means.
  func child(of entry: Entry) -> NameCodec.Child {
    let component = entry.component
    let isShadowed =
      entry.kind == .file
      && (component.isEmpty || (directoryCount > 0 && self.entry(component, .directory) != nil))
    return NameCodec.Child(component: component, isShadowedObject: isShadowed)
  }
}

/// The rows that a page adds, before they can be found in it.
private struct Intake {
  var builder: ListingPage.Builder
  var rejections: [ListingContents.Rejection] = []

  init(prefix: ObjectKey, requestedAt: Instant) {
    builder = ListingPage.Builder(prefix: prefix, requestedAt: requestedAt)
  }

  mutating func reject(_ key: ObjectKey, _ reason: String) {
    rejections.append(ListingContents.Rejection(key: key, reason: reason))
  }
}

extension ListingContents {
  private static let slash = UInt8(ascii: "/")
  private static let outside = "it lies outside of what was listed"
  private static let tooLong = "no key is so long"
  // Source: Amazon S3 User Guide, "Naming Amazon S3 objects": a key has at most 1,024 bytes.
  private static let keyLengthMax = 1024

  /// Returns true if a directory of the object's name could still follow: in byte order `a/` comes
  /// behind `a`, `a-b` and `a.b`.
  private func mayBecomeShadowed(_ key: ObjectKey, _ lastKey: ObjectKey) -> Bool {
    guard !key.isDirectoryMarker, lastKey.hasPrefix(key) else { return false }
    return lastKey.bytes.dropFirst(key.bytes.count).first.map { $0 < Self.slash } ?? true
  }

  private mutating func addDirectory(_ common: ObjectKey, to intake: inout Intake) {
    guard common.hasPrefix(prefix), common.bytes.count > prefix.bytes.count else {
      intake.reject(common, Self.outside)
      return
    }
    let rest = common.bytes[prefix.bytes.count...]
    addDirectory(component: rest.prefix { $0 != Self.slash }, common, to: &intake)
  }

  private mutating func addDirectory(
    component: ArraySlice<UInt8>,
    _ key: ObjectKey,
    to intake: inout Intake
  ) {
    guard component.count <= Self.keyLengthMax else {
      intake.reject(key, Self.tooLong)
      return
    }
    guard !isKnown(component, .directory, intake) else { return }
    note(component, .directory, intake)
    intake.builder.append(directory: component)
    directoryCount += 1
  }

  private mutating func addObject(_ object: ObjectMetadata, to intake: inout Intake) {
    let key = object.key
    guard key.hasPrefix(prefix) else {
      intake.reject(key, Self.outside)
      return
    }
    let rest = key.bytes[prefix.bytes.count...]
    let component = rest.prefix { $0 != Self.slash }
    guard component.count == rest.count else {
      // A store that ignores the delimiter: what the key shows is the directory.
      addDirectory(component: component, key, to: &intake)
      return
    }
    // The marker of the directory itself, or the root of a bucket, where there can be none.
    if component.isEmpty, object.size == 0 || prefix.bytes.isEmpty { return }
    guard ListingPage.canHold(object, component: component) else {
      intake.reject(key, "no file can have its size or tag")
      return
    }
    guard component.count <= Self.keyLengthMax else {
      intake.reject(key, Self.tooLong)
      return
    }
    guard !isKnown(component, .file, intake) else { return }
    note(component, .file, intake)
    intake.builder.append(object, component: component)
  }

  /// Returns true for a child that was listed before, in an earlier page or in this one.
  private func isKnown(
    _ component: ArraySlice<UInt8>,
    _ kind: FileKind,
    _ intake: Intake
  ) -> Bool {
    if kind == .directory, directoryCount == 0 { return false }
    return index.first(tag: Entry.tag(component, kind)) { value in
      let position = Int(value)
      return position < count
        ? isRow(position, component, kind)
        : intake.builder.isRow(position - count, component, kind)
    } != nil
  }

  /// Makes the row that is about to be added findable.
  private mutating func note(
    _ component: ArraySlice<UInt8>,
    _ kind: FileKind,
    _ intake: Intake
  ) {
    let position = UInt32(count + intake.builder.count)
    index.insert(tag: Entry.tag(component, kind), value: position)
    guard NameCodec.mayBeLong(component) else { return }
    let digits = digest.digits(of: Array(component))
    index.insert(tag: Self.tag(ofDigits: digits[...]), value: position)
  }
}

/// The greater of two, where nil is less than anything.
private func max(_ left: ObjectKey?, _ right: ObjectKey?) -> ObjectKey? {
  guard let left, let right else { return left ?? right }
  return left < right ? right : left
}
