/// The operations of the file system: the seam between the kernel's bridge and the names, inodes
/// and handles behind it.
///
/// Conformers: `MountedBucket` (Filesystem) and small doubles in the bridge's tests. Each call comes
/// on one of the bridge's threads and must not block it on the network: what isn't known is
/// parked with its reply and answered later from any thread. A reply is answered exactly once;
/// dropped unanswered it answers `EIO`.
package protocol FileOperations: AnyObject, Sendable {
  /// Finds `name` in the directory `parent`. A successful answer counts one lookup.
  func lookup(_ name: FileName, in parent: NodeID, reply: consuming Reply<EntryAnswer>)
  /// The kernel drops `count` of its lookups of `node`. Has no answer.
  func forget(_ node: NodeID, count: UInt64)
  /// Returns the attributes of `node`; `handle` is set if they were asked through an open file.
  func getAttributes(
    of node: NodeID,
    handle: HandleID?,
    reply: consuming Reply<AttributesAnswer>
  )
  /// Opens a file; if `mode` truncates, it is empty then.
  func open(_ node: NodeID, mode: OpenMode, reply: consuming Reply<OpenAnswer>)
  /// The kernel reads a node by itself, which it does for all who have it open or for none, and somebody is to
  /// write the file: its name is to lead to another node from now on, and who has this one open goes on
  /// reading what it was.
  func detach(_ node: NodeID)
  /// Reads up to `range.count` bytes; fewer only at the end of the file.
  func read(_ handle: HandleID, range: ByteRange, reply: consuming Reply<DataAnswer>)
  /// The last descriptor of an open file is closed.
  func release(_ handle: HandleID, reply: consuming Reply<EmptyAnswer>)
  /// Opens a directory.
  func openDirectory(_ node: NodeID, reply: consuming Reply<OpenAnswer>)
  /// Reads entries from position `offset` (0 is the start, else an entry's `nextOffset`).
  func readDirectory(
    _ handle: HandleID,
    offset: Int,
    withAttributes: Bool,
    reply: consuming Reply<DirectoryAnswer>
  )
  /// The directory handle is closed.
  func releaseDirectory(_ handle: HandleID, reply: consuming Reply<EmptyAnswer>)
  /// Returns size and limits of the file system.
  func statistics(reply: consuming Reply<StatisticsAnswer>)
  /// Returns the value of an extended attribute.
  func extendedAttribute(
    _ name: String,
    of node: NodeID,
    reply: consuming Reply<AttributeValueAnswer>
  )
  /// Returns the names of the extended attributes.
  func extendedAttributeNames(of node: NodeID, reply: consuming Reply<AttributeValueAnswer>)

  // What changes something.

  /// Makes a file and opens it; one that is there already is opened, unless `mode` is exclusive. A
  /// successful answer counts one lookup.
  func create(
    _ name: FileName,
    in parent: NodeID,
    like facts: NewNode,
    mode: OpenMode,
    reply: consuming Reply<CreateAnswer>
  )
  /// Makes an empty file. A successful answer counts one lookup.
  func makeFile(
    _ name: FileName,
    in parent: NodeID,
    like facts: NewNode,
    reply: consuming Reply<EntryAnswer>
  )
  /// Makes a directory. A successful answer counts one lookup.
  func makeDirectory(
    _ name: FileName,
    in parent: NodeID,
    like facts: NewNode,
    reply: consuming Reply<EntryAnswer>
  )
  /// Makes a symbolic link that says `target`. A successful answer counts one lookup.
  func makeLink(
    _ name: FileName,
    in parent: NodeID,
    to target: [UInt8],
    like facts: NewNode,
    reply: consuming Reply<EntryAnswer>
  )
  /// Returns what a symbolic link says.
  func linkTarget(of node: NodeID, reply: consuming Reply<LinkTargetAnswer>)
  /// Writes bytes, which are valid during the call only, at `offset`; nil is the end of the file.
  func write(
    _ handle: HandleID,
    _ bytes: UnsafeRawBufferPointer,
    at offset: Int?,
    reply: consuming Reply<WrittenAnswer>
  )
  /// Makes bytes of one open file those of another, or of another place in the same; fewer than asked for
  /// only at the source's end.
  func copyRange(
    from source: HandleID,
    _ range: ByteRange,
    to target: HandleID,
    at offset: Int,
    reply: consuming Reply<WrittenAnswer>
  )
  /// A descriptor of an open file is closed by `process`, 0 if nobody can tell which: answers when what was
  /// written is stored.
  func flush(_ handle: HandleID, by process: Int32, reply: consuming Reply<EmptyAnswer>)
  /// Answers when what was written is stored.
  func synchronize(_ handle: HandleID, reply: consuming Reply<EmptyAnswer>)
  /// Makes room for a range, or makes it a hole.
  func allocate(
    _ handle: HandleID,
    range: ByteRange,
    _ allocation: Allocation,
    reply: consuming Reply<EmptyAnswer>
  )
  /// Changes what `stat` shows; `handle` is set if it was asked through an open file.
  func setAttributes(
    of node: NodeID,
    handle: HandleID?,
    to changes: AttributeChanges,
    reply: consuming Reply<AttributesAnswer>
  )
  /// Sets the value of an extended attribute.
  func setExtendedAttribute(
    _ name: String,
    of node: NodeID,
    to value: [UInt8],
    _ rule: AttributeRule,
    reply: consuming Reply<EmptyAnswer>
  )
  /// Removes an extended attribute.
  func removeExtendedAttribute(
    _ name: String,
    of node: NodeID,
    reply: consuming Reply<EmptyAnswer>
  )
  /// Removes a file's or a link's name; who has it open goes on reading.
  func remove(_ name: FileName, in parent: NodeID, reply: consuming Reply<EmptyAnswer>)
  /// Removes an empty directory.
  func removeDirectory(_ name: FileName, in parent: NodeID, reply: consuming Reply<EmptyAnswer>)
  /// Gives a file or a directory another name; what has that name is replaced, unless `replaces` is false.
  func rename(
    _ name: FileName,
    in parent: NodeID,
    to newName: FileName,
    in newParent: NodeID,
    replaces: Bool,
    reply: consuming Reply<EmptyAnswer>
  )
}

/// The kernel's number for a file that it knows; never reused while the mount lives.
///
/// 1 is the root.
package struct NodeID: Hashable, Sendable {
  /// The number.
  package let rawValue: UInt64
  /// Creates an id from its number.
  package init(_ rawValue: UInt64) { self.rawValue = rawValue }
  /// The root directory.
  package static let root = NodeID(1)
}

/// An open file or directory.
package struct HandleID: Hashable, Sendable {
  /// The number.
  package let rawValue: UInt64
  /// Creates an id from its number.
  package init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// One component of a path: bytes without `/` and NUL.
package struct FileName: Hashable, Sendable {
  /// The bytes; 1 to 255 in what we list, up to 1,024 in what the kernel asks for.
  package let bytes: [UInt8]
  /// Creates a name of these bytes.
  package init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }
  /// Creates a name of the text's UTF-8.
  package init(_ text: String) { bytes = Array(text.utf8) }
}

extension FileName: CustomStringConvertible {
  package var description: String { bytes.printable }
}
