internal import Core

/// The files and directories that the kernel knows, by number and by key.
///
/// A number names one version of one object: another version gets another number, so that the
/// kernel's pages and attributes of two versions never mix. When an object is learned to be replaced
/// or gone its node is *superseded*: it is no longer found by key, and whatever is asked of it is
/// answered `ESTALE`. Directories have no versions.
///
/// A node is 56 bytes and 11 to 22 for the index; its facts are a row of a listing's page. The low
/// 28 bits of a number are the node's place in the table, the rest is a counter, so that numbers are
/// never reused and cost no table of their own.
struct InodeTable: Sendable {
  /// What is known of a node.
  struct Node: Sendable {
    /// What the store said of it; nil for the root.
    var entry: Entry?
    /// True if it is known to be so no longer.
    var isSuperseded: Bool
    /// True if its name was taken from it through this mount; who has it open goes on.
    var isRemoved: Bool
    /// The directory it is in; nil for the root, or if the kernel has forgotten that.
    var parent: NodeID?
  }

  private struct Slot {
    /// The node's number; 0 in a free slot.
    var id: UInt64
    var page: ListingPage?
    var directory: Directory?
    var lookupCount: UInt64
    var row: UInt32
    var parent: UInt32
    var firstChild: UInt32
    var previous: UInt32
    var next: UInt32
    var isSuperseded: Bool
    var isRemoved = false
    /// What the store says of its key is not about it: it has bytes that are not stored yet.
    var isPinned = false
    var traits = Traits()

    var entry: Entry? { page.map { Entry(page: $0, row: row) } }
    /// Its name leads to it.
    var isFound: Bool { !isSuperseded && !isRemoved }
  }

  private struct Traits: OptionSet {
    var rawValue: UInt8 = 0
    /// It was opened to be written.
    static let wasWritten = Traits(rawValue: 1)
    /// The kernel was told that it is a symbolic link, which it is from then on.
    static let isLink = Traits(rawValue: 2)
  }

  private static let slotBits: UInt64 = 28
  private static let chunkSize = 1024
  private static let none: UInt32 = 0
  private static let rootSlot: UInt32 = 1

  /// Chunks, because one array would have to be copied to grow.
  private var chunks: [[Slot]] = []
  private var slotCount: UInt32 = 0
  private var freeSlots: [UInt32] = []
  private var serial: UInt64 = 0
  private var index = CompactIndex()
  /// The number of nodes.
  private(set) var count = 0

  /// Creates a table that holds the root.
  init(rootDirectory: Directory) {
    // The slot that means "none" is never used; the root's number is its slot's, 1.
    _ = allocate()
    let slot = allocate()
    self[slot].id = NodeID.root.rawValue
    self[slot].directory = rootDirectory
    self[slot].lookupCount = 1
    count = 1
  }

  /// The bytes of memory that it takes, without the pages and directories.
  var byteCount: Int {
    chunks.count * Self.chunkSize * MemoryLayout<Slot>.stride + index.byteCount
      + freeSlots.capacity * 4
  }

  /// The bytes of a node's record.
  static var nodeByteCount: Int { MemoryLayout<Slot>.stride }

  /// Returns what is known of a node; nil if the kernel doesn't have it.
  func node(_ id: NodeID) -> Node? {
    guard let slot = slot(of: id) else { return nil }
    let fields = self[slot]
    return Node(
      entry: fields.entry,
      isSuperseded: fields.isSuperseded,
      isRemoved: fields.isRemoved,
      parent: fields.parent == Self.none ? nil : NodeID(self[fields.parent].id)
    )
  }

  /// True if a node is known to be out of date.
  func isSuperseded(_ id: NodeID) -> Bool {
    slot(of: id).map { self[$0].isSuperseded } ?? false
  }

  /// The directory of a node, made if it is entered for the first time; nil if the node is none.
  mutating func directory(_ id: NodeID) -> Directory? {
    guard let slot = slot(of: id) else { return nil }
    if let directory = self[slot].directory { return directory }
    guard let entry = self[slot].entry, entry.kind == .directory else { return nil }
    let parent = self[slot].parent == Self.none ? nil : self[self[slot].parent].directory
    let numbers = InodeNumber.Prefix(entry.page.prefix)
    let number = InodeNumber.of(entry.component, kind: .directory, in: numbers)
    let directory = Directory(
      node: id,
      prefix: entry.key,
      inodeNumber: number,
      parentInodeNumber: parent?.inodeNumber ?? number
    )
    self[slot].directory = directory
    return directory
  }

  /// The directory of a node, if it has been entered.
  func enteredDirectory(_ id: NodeID) -> Directory? {
    slot(of: id).flatMap { self[$0].directory }
  }

  /// The node of the child that `entry` describes, in any version.
  func nodeID(for entry: Entry) -> NodeID? {
    slot(for: entry).map { NodeID(self[$0].id) }
  }

  /// The node of a child by its place, in any version.
  func nodeID(_ component: ArraySlice<UInt8>, _ kind: FileKind, in prefix: ObjectKey) -> NodeID? {
    index.first(tag: Entry.tag(component, kind, prefix: prefix)) { value in
      guard let other = self[value].entry else { return false }
      return other.kind == kind && other.component == component && other.page.prefix == prefix
    }.map { NodeID(self[$0].id) }
  }

  /// The store says that `entry` is there, and the kernel is given the node for it.
  ///
  /// The kernel doesn't take another kind of the same node: what turns out to be a link, or none, gets a new
  /// one.
  ///
  /// - Parameters:
  ///   - entry: what is there.
  ///   - parent: the directory.
  ///   - isLink: whether it is a symbolic link; nil if that isn't known.
  /// - Returns: the node; it may know something newer than `entry`.
  mutating func lookedUp(
    _ entry: Entry,
    in parent: NodeID,
    isLink: Bool? = nil
  ) -> NodeID {
    var current = currentSlot(for: entry)
    if let slot = current, let isLink, self[slot].traits.contains(.isLink) != isLink,
      !self[slot].isPinned,
      self[slot].entry?.isSameContent(as: entry) ?? false
    {
      _ = supersede(slot)
      current = nil
    }
    if let slot = current {
      self[slot].lookupCount += 1
      if self[slot].parent == Self.none, let parentSlot = self.slot(of: parent) {
        link(slot, to: parentSlot)
      }
      return NodeID(self[slot].id)
    }
    let slot = allocate()
    serial += 1
    self[slot].id = serial << Self.slotBits | UInt64(slot)
    self[slot].page = entry.page
    self[slot].row = entry.row
    if isLink ?? false { self[slot].traits.insert(.isLink) }
    self[slot].lookupCount = 1
    index.insert(tag: tag(of: entry), value: slot)
    if let parentSlot = self.slot(of: parent) { link(slot, to: parentSlot) }
    count += 1
    return NodeID(self[slot].id)
  }

  /// The store says that `entry` is there.
  ///
  /// - Returns: true if a node of another version is superseded by it.
  @discardableResult
  mutating func sighted(_ entry: Entry) -> Bool {
    slot(for: entry) != nil && currentSlot(for: entry) == nil
  }

  /// The store says that there is no such child, as of a question asked at `moment`.
  ///
  /// - Returns: true if a node is superseded.
  @discardableResult
  mutating func vanished(_ id: NodeID, asOf moment: Instant) -> Bool {
    guard let slot = slot(of: id), let entry = self[slot].entry, self[slot].isFound,
      !self[slot].isPinned, entry.page.requestedAt <= moment
    else { return false }
    if entry.kind == .file { return supersede(slot) }
    // A directory is not a version: should keys come back below it, it is the same one.
    let detached = entry.detached
    self[slot].page = detached.page
    self[slot].row = detached.row
    return false
  }

  /// The node is known to be out of date, whatever was confirmed.
  @discardableResult
  mutating func supersede(_ id: NodeID) -> Bool {
    guard let slot = slot(of: id), slot != Self.rootSlot else { return false }
    return supersede(slot)
  }

  /// The kernel drops `lookupCount` of its lookups.
  mutating func forget(_ id: NodeID, lookupCount: UInt64) {
    guard let slot = slot(of: id), slot != Self.rootSlot else { return }
    self[slot].lookupCount -= min(lookupCount, self[slot].lookupCount)
    if self[slot].lookupCount == 0 { free(slot) }
  }

  /// The children of a directory that the kernel knows.
  func children(of id: NodeID) -> [NodeID] {
    guard let slot = slot(of: id) else { return [] }
    var children: [NodeID] = []
    var child = self[slot].firstChild
    while child != Self.none {
      children.append(NodeID(self[child].id))
      child = self[child].next
    }
    return children
  }

  /// The directories that the kernel has entered.
  var enteredDirectories: [Directory] { chunks.flatMap { $0.compactMap(\.directory) } }

  /// The number of lookups that the kernel has of a node.
  func lookupCount(of id: NodeID) -> UInt64 { slot(of: id).map { self[$0].lookupCount } ?? 0 }
}

extension InodeTable {
  /// A child was made through this mount, and the kernel is given the node for it.
  ///
  /// A node that the child had before is superseded.
  mutating func made(_ entry: Entry, in parent: NodeID, isLink: Bool = false) -> NodeID {
    if let slot = slot(for: entry) { _ = supersede(slot) }
    return lookedUp(entry, in: parent, isLink: isLink)
  }

  /// The name of a node was removed through this mount.
  mutating func removed(_ id: NodeID) {
    guard let slot = slot(of: id), slot != Self.rootSlot, self[slot].isFound else { return }
    hide(slot)
    self[slot].isRemoved = true
  }

  /// A node has new facts, by a change through this mount: the same child, or another that it is
  /// from now on, in the directory `parent`.
  mutating func changed(_ id: NodeID, to entry: Entry, in parent: NodeID? = nil) {
    guard let slot = slot(of: id), let known = self[slot].entry else { return }
    guard self[slot].isFound else {
      // Nobody finds it, but its facts are asked for all the same.
      let detached = entry.detached
      self[slot].page = detached.page
      self[slot].row = detached.row
      return
    }
    let isSameChild = known.isSameChild(as: entry)
    if !isSameChild { index.remove(tag: tag(of: known), value: slot) }
    self[slot].page = entry.page
    self[slot].row = entry.row
    guard !isSameChild else { return }
    // Its listings are of other keys.
    self[slot].directory = nil
    index.insert(tag: tag(of: entry), value: slot)
    unlink(slot)
    if let parent, let parentSlot = self.slot(of: parent) { link(slot, to: parentSlot) }
  }

  /// Says whether a node has bytes that are not stored yet: what the store says of its key is not about
  /// it then.
  ///
  /// - Returns: true if that is news.
  @discardableResult
  mutating func pin(_ id: NodeID, _ isPinned: Bool) -> Bool {
    guard let slot = slot(of: id), self[slot].isPinned != isPinned else { return false }
    self[slot].isPinned = isPinned
    if isPinned { self[slot].traits.insert(.wasWritten) }
    return true
  }

  /// True if the kernel was told that a node is a symbolic link.
  func isLink(_ id: NodeID) -> Bool {
    slot(of: id).map { self[$0].traits.contains(.isLink) } ?? false
  }

  /// True if a node was opened to be written, now or before.
  func wasWritten(_ id: NodeID) -> Bool {
    slot(of: id).map { self[$0].traits.contains(.wasWritten) } ?? false
  }

  /// A node was opened to be written.
  mutating func noteWriter(of id: NodeID) {
    if let slot = slot(of: id) { self[slot].traits.insert(.wasWritten) }
  }
}

extension InodeTable {
  private subscript(_ slot: UInt32) -> Slot {
    get { chunks[Int(slot) / Self.chunkSize][Int(slot) % Self.chunkSize] }
    _modify { yield &chunks[Int(slot) / Self.chunkSize][Int(slot) % Self.chunkSize] }
  }

  private func slot(of id: NodeID) -> UInt32? {
    let slot = UInt32(truncatingIfNeeded: id.rawValue & (1 << Self.slotBits - 1))
    guard slot != Self.none, slot < slotCount, self[slot].id == id.rawValue else { return nil }
    return slot
  }

  private func tag(of entry: Entry) -> UInt32 {
    Entry.tag(entry.component, entry.kind, prefix: entry.page.prefix)
  }

  private func slot(for entry: Entry) -> UInt32? {
    index.first(tag: tag(of: entry)) { self[$0].entry?.isSameChild(as: entry) ?? false }
  }

  /// Brings the node of a child up to date, or supersedes it.
  ///
  /// - Returns: the node's slot; nil if there is none (any more).
  private mutating func currentSlot(for entry: Entry) -> UInt32? {
    guard let slot = slot(for: entry), let known = self[slot].entry else { return nil }
    if self[slot].isPinned { return slot }
    if known.isSameContent(as: entry) {
      if known.page.requestedAt <= entry.page.requestedAt {
        self[slot].page = entry.page
        self[slot].row = entry.row
      }
      return slot
    }
    // What was asked for later is newer.
    guard known.page.requestedAt <= entry.page.requestedAt else { return slot }
    _ = supersede(slot)
    return nil
  }

  private mutating func supersede(_ slot: UInt32) -> Bool {
    guard self[slot].isFound else { return false }
    hide(slot)
    self[slot].isSuperseded = true
    return true
  }

  /// Lets a node be found by its name no more.
  private mutating func hide(_ slot: UInt32) {
    guard let entry = self[slot].entry, self[slot].isFound else { return }
    index.remove(tag: tag(of: entry), value: slot)
    // The page that it was listed in may go.
    let detached = entry.detached
    self[slot].page = detached.page
    self[slot].row = detached.row
    unlink(slot)
  }

  private mutating func allocate() -> UInt32 {
    if let slot = freeSlots.popLast() { return slot }
    if Int(slotCount) % Self.chunkSize == 0 {
      let empty = Slot(
        id: 0,
        lookupCount: 0,
        row: 0,
        parent: Self.none,
        firstChild: Self.none,
        previous: Self.none,
        next: Self.none,
        isSuperseded: false
      )
      chunks.append(Array(repeating: empty, count: Self.chunkSize))
    }
    precondition(slotCount < 1 << Self.slotBits, "the kernel knows more files than it can count")
    slotCount += 1
    return slotCount - 1
  }

  private mutating func free(_ slot: UInt32) {
    if let entry = self[slot].entry, self[slot].isFound {
      index.remove(tag: tag(of: entry), value: slot)
    }
    unlink(slot)
    // Children whose directory the kernel forgot first are found by their keys all the same.
    while self[slot].firstChild != Self.none { unlink(self[slot].firstChild) }
    self[slot].id = 0
    self[slot].page = nil
    self[slot].directory = nil
    self[slot].isSuperseded = false
    self[slot].isRemoved = false
    self[slot].isPinned = false
    self[slot].traits = []
    freeSlots.append(slot)
    count -= 1
  }

  private mutating func link(_ slot: UInt32, to parent: UInt32) {
    let next = self[parent].firstChild
    self[slot].parent = parent
    self[slot].previous = Self.none
    self[slot].next = next
    if next != Self.none { self[next].previous = slot }
    self[parent].firstChild = slot
  }

  private mutating func unlink(_ slot: UInt32) {
    let (parent, previous, next) = (self[slot].parent, self[slot].previous, self[slot].next)
    if next != Self.none { self[next].previous = previous }
    if previous != Self.none {
      self[previous].next = next
    } else if parent != Self.none {
      self[parent].firstChild = next
    }
    self[slot].parent = Self.none
    self[slot].previous = Self.none
    self[slot].next = Self.none
  }
}
