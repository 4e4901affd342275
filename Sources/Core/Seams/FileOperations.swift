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
  /// Opens a file.
  func open(_ node: NodeID, forWriting: Bool, reply: consuming Reply<OpenAnswer>)
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

/// What a directory entry is.
package enum FileKind: Hashable, Sendable {
  case file
  case directory
  case symbolicLink
}

/// What `stat` shows.
package struct FileAttributes: Hashable, Sendable {
  /// The inode number that programs see: stable across mounts, unlike `NodeID`.
  package var inodeNumber: UInt64
  /// File, directory or link.
  package var kind: FileKind
  /// Bytes; `st_blocks` follows from it, always full, because `cp` takes a file with fewer blocks
  /// for sparse and then never asks for a server-side copy.
  package var size: Int
  /// The permission bits, such as `0o644`.
  package var permissions: UInt16
  /// The owner.
  package var userID: UInt32
  /// The group.
  package var groupID: UInt32
  /// `st_mtime`, also shown as `st_ctime` and `st_atime`.
  package var modified: Timestamp
  /// The number of hard links.
  package var linkCount: UInt32

  /// Creates attributes.
  package init(
    inodeNumber: UInt64,
    kind: FileKind,
    size: Int,
    permissions: UInt16,
    userID: UInt32,
    groupID: UInt32,
    modified: Timestamp,
    linkCount: UInt32
  ) {
    self.inodeNumber = inodeNumber
    self.kind = kind
    self.size = size
    self.permissions = permissions
    self.userID = userID
    self.groupID = groupID
    self.modified = modified
    self.linkCount = linkCount
  }
}

/// A file found, or known not to be there.
package struct EntryAnswer: Hashable, Sendable {
  /// The file; nil is a negative answer that the kernel may keep for `entryTimeout`.
  package var node: NodeID?
  /// The file's attributes; ignored for a negative answer.
  package var attributes: FileAttributes?
  /// How long the kernel may trust that the name leads to the node.
  package var entryTimeout: Duration
  /// How long the kernel may trust the attributes.
  package var attributeTimeout: Duration

  /// Creates a positive answer.
  package init(
    node: NodeID,
    attributes: FileAttributes,
    entryTimeout: Duration,
    attributeTimeout: Duration
  ) {
    self.node = node
    self.attributes = attributes
    self.entryTimeout = entryTimeout
    self.attributeTimeout = attributeTimeout
  }

  /// Creates a negative answer; with a zero timeout the kernel keeps nothing.
  package init(absentFor timeout: Duration) {
    node = nil
    attributes = nil
    entryTimeout = timeout
    attributeTimeout = .zero
  }
}

/// Attributes, and how long they may be trusted.
package struct AttributesAnswer: Hashable, Sendable {
  /// The attributes.
  package var attributes: FileAttributes
  /// How long the kernel may trust them.
  package var timeout: Duration

  /// Creates an answer.
  package init(attributes: FileAttributes, timeout: Duration) {
    self.attributes = attributes
    self.timeout = timeout
  }
}

/// An open file or directory.
package struct OpenAnswer: Hashable, Sendable {
  /// The handle.
  package var handle: HandleID
  /// The kernel may keep the pages it has of this file: they are of the version that was opened.
  package var keepsPageCache: Bool
  /// Reads bypass the kernel's page cache.
  package var isDirect: Bool
  /// The descriptor of a file that holds just the bytes of this one, all of them and verified; open
  /// until the handle is released.
  ///
  /// The bridge may have the kernel read it, and then no read comes.
  package var wholeFile: Int32?

  /// Creates an answer.
  package init(
    handle: HandleID,
    keepsPageCache: Bool = false,
    isDirect: Bool = false,
    wholeFile: Int32? = nil
  ) {
    self.handle = handle
    self.keepsPageCache = keepsPageCache
    self.isDirect = isDirect
    self.wholeFile = wholeFile
  }
}

/// Bytes of a file.
package enum DataAnswer: Sendable {
  /// The range of an open file that holds them; it must be whole, and stay open until the answer is out.
  case file(descriptor: Int32, range: ByteRange)
  /// These bytes.
  case bytes([UInt8])
}

/// Nothing but success.
package struct EmptyAnswer: Hashable, Sendable {
  /// Creates the answer.
  package init() {}
}

/// The value of an extended attribute, or the list of names, each ended by NUL.
///
/// The bridge answers
/// a question for the size, and `ERANGE` if the caller's buffer is too small.
package struct AttributeValueAnswer: Hashable, Sendable {
  /// The bytes.
  package var bytes: [UInt8]
  /// Creates an answer.
  package init(_ bytes: [UInt8]) { self.bytes = bytes }
}

/// What `statfs` shows.
package struct StatisticsAnswer: Hashable, Sendable {
  /// Bytes per block.
  package var blockSize: Int
  /// Blocks in all; a bucket has no end, so a very large number.
  package var blockCount: UInt64
  /// Blocks free.
  package var freeBlockCount: UInt64
  /// Files in all.
  package var fileCount: UInt64
  /// Files that could still be made.
  package var freeFileCount: UInt64
  /// The longest name.
  package var nameLengthMax: Int

  /// Creates statistics.
  package init(
    blockSize: Int,
    blockCount: UInt64,
    freeBlockCount: UInt64,
    fileCount: UInt64,
    freeFileCount: UInt64,
    nameLengthMax: Int
  ) {
    self.blockSize = blockSize
    self.blockCount = blockCount
    self.freeBlockCount = freeBlockCount
    self.fileCount = fileCount
    self.freeFileCount = freeFileCount
    self.nameLengthMax = nameLengthMax
  }
}

/// Where the entries of one `readdir` answer come from; the bridge takes as many as fit.
package struct DirectoryAnswer: Sendable {
  /// The entries from the asked position on.
  package var source: any DirectorySource
  /// Creates an answer.
  package init(source: any DirectorySource) { self.source = source }
}

/// A cursor over a directory's entries.
package protocol DirectorySource: Sendable {
  /// Returns the next entry without taking it; nil at the end of what may be answered now.
  func peek() -> DirectoryEntry?
  /// Takes the entry that `peek` returned. With attributes, and unless it is `.` or `..`, this counts
  /// one lookup and returns the entry's node.
  mutating func take(withAttributes: Bool) -> EntryAnswer?
}

/// One name in a directory.
package struct DirectoryEntry: Hashable, Sendable {
  /// The name.
  package var name: FileName
  /// The inode number that programs see.
  package var inodeNumber: UInt64
  /// File, directory or link.
  package var kind: FileKind
  /// The position behind this entry.
  package var nextOffset: Int

  /// Creates an entry.
  package init(name: FileName, inodeNumber: UInt64, kind: FileKind, nextOffset: Int) {
    self.name = name
    self.inodeNumber = inodeNumber
    self.kind = kind
    self.nextOffset = nextOffset
  }
}
