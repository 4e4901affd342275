internal import Core

/// What one answer of the store said of some children of a directory; never changed.
///
/// A page of a listing has up to a thousand rows, the answer to a lookup one. Everything that is
/// known of a child is its row here: a fixed record, and name and ETag in one arena. Listings,
/// inodes and open files refer to rows instead of having copies, which keeps a listed name under
/// 300 bytes in all.
final class ListingPage: Sendable {
  fileprivate struct Row {
    var size: Int
    var modifiedSeconds: Int
    var textStart: UInt32
    var componentCount: UInt16
    var etagCount: UInt16
    var storageClass: UInt8
    var flags: Flags
  }

  fileprivate struct Flags: OptionSet {
    var rawValue: UInt8
    static let isDirectory = Flags(rawValue: 1)
    static let hasETag = Flags(rawValue: 2)
    static let isArchived = Flags(rawValue: 4)
    static let hasStorageClass = Flags(rawValue: 8)
  }

  /// The directory's prefix.
  let prefix: ObjectKey
  /// When the store was asked: what changed later isn't in the answer.
  let requestedAt: Instant
  /// True if its one row was looked up by its plain name, so that no directory can have that.
  let isPlainlyNamed: Bool
  fileprivate let rows: [Row]
  fileprivate let text: [UInt8]
  fileprivate let storageClasses: [String]

  fileprivate init(_ builder: Builder, isPlainlyNamed: Bool) {
    prefix = builder.prefix
    requestedAt = builder.requestedAt
    self.isPlainlyNamed = isPlainlyNamed
    // Copied, because an array that grew has room for more than it holds.
    rows = Array(unsafeUninitializedCapacity: builder.rows.count) { buffer, count in
      count = buffer.initialize(fromContentsOf: builder.rows)
    }
    text = Array(unsafeUninitializedCapacity: builder.text.count) { buffer, count in
      count = buffer.initialize(fromContentsOf: builder.text)
    }
    storageClasses = builder.storageClasses
  }

  /// The number of rows.
  var count: Int { rows.count }

  /// The bytes of memory that it takes.
  var byteCount: Int {
    rows.capacity * MemoryLayout<Row>.stride + text.capacity + Self.overhead
  }

  /// The object, its arrays' heads and the allocator's rounding, roughly.
  private static let overhead = 256
}

extension ListingPage {
  /// Collects the rows of a page.
  struct Builder {
    let prefix: ObjectKey
    let requestedAt: Instant
    fileprivate var rows: [Row] = []
    fileprivate var text: [UInt8] = []
    fileprivate var storageClasses: [String] = []

    init(prefix: ObjectKey, requestedAt: Instant) {
      self.prefix = prefix
      self.requestedAt = requestedAt
    }

    /// The number of rows.
    var count: Int { rows.count }

    /// Returns true if a row is this child.
    func isRow(_ row: Int, _ component: ArraySlice<UInt8>, _ kind: FileKind) -> Bool {
      guard row < rows.count else { return false }
      let fields = rows[row]
      return fields.flags.contains(.isDirectory) == (kind == .directory)
        && text[Int(fields.textStart)...].prefix(Int(fields.componentCount)) == component
    }

    /// Adds a directory.
    mutating func append(directory component: ArraySlice<UInt8>) {
      let start = UInt32(text.count)
      text += component
      rows.append(
        Row(
          size: 0,
          modifiedSeconds: 0,
          textStart: start,
          componentCount: UInt16(component.count),
          etagCount: 0,
          storageClass: 0,
          flags: .isDirectory
        )
      )
    }

    /// Adds an object.
    mutating func append(_ object: ObjectMetadata, component: ArraySlice<UInt8>) {
      var flags: Flags = object.isArchived ? .isArchived : []
      let start = UInt32(text.count)
      text += component
      var etagCount = 0
      if let etag = object.version.etag {
        flags.insert(.hasETag)
        text += etag.value.utf8
        etagCount = text.count - Int(start) - component.count
      }
      var storageClass = 0
      if let name = object.storageClass, let index = index(ofStorageClass: name) {
        flags.insert(.hasStorageClass)
        storageClass = index
      }
      rows.append(
        Row(
          size: object.size,
          modifiedSeconds: object.version.lastModified.seconds,
          textStart: start,
          componentCount: UInt16(component.count),
          etagCount: UInt16(etagCount),
          storageClass: UInt8(storageClass),
          flags: flags
        )
      )
    }

    /// The page of what was added.
    func build() -> ListingPage { ListingPage(self, isPlainlyNamed: false) }

    /// The entry of the one row that was added.
    func buildSingle(isPlainlyNamed: Bool) -> Entry {
      Entry(page: ListingPage(self, isPlainlyNamed: isPlainlyNamed), row: 0)
    }

    private mutating func index(ofStorageClass name: String) -> Int? {
      if let index = storageClasses.firstIndex(of: name) { return index }
      guard storageClasses.count < 256 else { return nil }
      storageClasses.append(name)
      return storageClasses.count - 1
    }
  }

  /// The entry of one object that the store was asked about; nil if no file can have its facts.
  static func single(
    _ object: ObjectMetadata,
    component: ArraySlice<UInt8>,
    in prefix: ObjectKey,
    requestedAt: Instant,
    isPlainlyNamed: Bool
  ) -> Entry? {
    guard canHold(object, component: component) else { return nil }
    var builder = Builder(prefix: prefix, requestedAt: requestedAt)
    builder.append(object, component: component)
    return builder.buildSingle(isPlainlyNamed: isPlainlyNamed)
  }

  /// The entry of one directory that the store was asked about.
  static func single(
    directory component: ArraySlice<UInt8>,
    in prefix: ObjectKey,
    requestedAt: Instant
  ) -> Entry {
    var builder = Builder(prefix: prefix, requestedAt: requestedAt)
    builder.append(directory: component)
    return builder.buildSingle(isPlainlyNamed: true)
  }

  /// True if a child's facts fit into a row, and are such as a file system can show.
  static func canHold(_ object: ObjectMetadata, component: ArraySlice<UInt8>) -> Bool {
    // 1 EiB: beyond that, sums of offsets would not fit into an `Int`.
    0...(1 << 60) ~= object.size && component.count <= Int(UInt16.max)
      && (object.version.etag?.value.utf8.count ?? 0) <= Int(UInt16.max)
  }
}

/// A child of a directory as an answer of the store had it: a row of a page.
struct Entry: Sendable {
  let page: ListingPage
  let row: UInt32

  private var fields: ListingPage.Row { page.rows[Int(row)] }

  /// File or directory.
  var kind: FileKind { fields.flags.contains(.isDirectory) ? .directory : .file }

  /// The key's bytes behind the directory's prefix.
  var component: ArraySlice<UInt8> {
    let fields = fields
    return page.text[Int(fields.textStart)...].prefix(Int(fields.componentCount))
  }

  /// The object's size in bytes; 0 for a directory.
  var size: Int { fields.size }

  /// When the object was last modified, to the second: a header's and a listing's look agree.
  var modified: Timestamp { Timestamp(seconds: fields.modifiedSeconds) }

  /// The object's tag.
  var etag: ETag? {
    let fields = fields
    guard fields.flags.contains(.hasETag) else { return nil }
    let start = Int(fields.textStart) + Int(fields.componentCount)
    return ETag(String(decoding: page.text[start..<start + Int(fields.etagCount)], as: UTF8.self))
  }

  /// The storage class in the store's spelling; nil is its standard.
  var storageClass: String? {
    let fields = fields
    return fields.flags.contains(.hasStorageClass)
      ? page.storageClasses[Int(fields.storageClass)] : nil
  }

  /// The object's key, or the directory's prefix.
  var key: ObjectKey {
    let slash = UInt8(ascii: "/")
    let bytes = page.prefix.bytes + component
    return ObjectKey(kind == .directory ? bytes + [slash] : bytes)
  }

  /// The object's version.
  var version: ObjectVersion {
    ObjectVersion(key: key, etag: etag, size: size, lastModified: modified)
  }

  /// Returns true if both say the same of what a reader could see: bytes and attributes' source.
  func isSameContent(as other: Entry) -> Bool {
    guard kind == other.kind else { return false }
    if kind == .directory { return true }
    let (mine, theirs) = (fields, other.fields)
    guard mine.size == theirs.size, mine.etagCount == theirs.etagCount else { return false }
    guard mine.flags.contains(.hasETag) else {
      return !theirs.flags.contains(.hasETag) && mine.modifiedSeconds == theirs.modifiedSeconds
    }
    return theirs.flags.contains(.hasETag) && tagBytes == other.tagBytes
  }

  /// Returns true if both are the same child of the same directory.
  func isSameChild(as other: Entry) -> Bool {
    (page === other.page && row == other.row)
      || (kind == other.kind && component == other.component && page.prefix == other.page.prefix)
  }

  /// The same facts in a page of their own, so that the rest of this page can go.
  var detached: Entry {
    guard page.count > 1 else { return self }
    var builder = ListingPage.Builder(prefix: page.prefix, requestedAt: page.requestedAt)
    if kind == .directory {
      builder.append(directory: component)
    } else {
      var metadata = ObjectMetadata(version: version)
      metadata.storageClass = storageClass
      metadata.isArchived = fields.flags.contains(.isArchived)
      builder.append(metadata, component: component)
    }
    return builder.buildSingle(isPlainlyNamed: page.isPlainlyNamed)
  }

  private var tagBytes: ArraySlice<UInt8> {
    let fields = fields
    let start = Int(fields.textStart) + Int(fields.componentCount)
    return page.text[start..<start + Int(fields.etagCount)]
  }

  /// The tag of a child for a `CompactIndex`.
  static func tag(
    _ component: ArraySlice<UInt8>,
    _ kind: FileKind,
    prefix: ObjectKey? = nil
  ) -> UInt32 {
    var hasher = Hasher()
    if let prefix { prefix.bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }
    component.withUnsafeBytes { hasher.combine(bytes: $0) }
    hasher.combine(kind == .directory)
    return UInt32(truncatingIfNeeded: hasher.finalize())
  }
}
