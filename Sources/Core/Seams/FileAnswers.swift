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
  /// `st_mtime`.
  package var modified: Timestamp
  /// `st_atime`; nil is the time of the last modification, since no read is recorded.
  package var accessed: Timestamp?
  /// `st_ctime`; nil is the time of the last modification.
  package var changed: Timestamp?
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

/// A file made, or found, and opened.
package struct CreateAnswer: Hashable, Sendable {
  /// The file.
  package var entry: EntryAnswer
  /// How it was opened.
  package var open: OpenAnswer

  /// Creates an answer.
  package init(entry: EntryAnswer, open: OpenAnswer) {
    self.entry = entry
    self.open = open
  }
}

/// How many bytes were written.
package struct WrittenAnswer: Hashable, Sendable {
  /// The number of bytes, from the first on.
  package var count: Int
  /// Creates an answer.
  package init(count: Int) { self.count = count }
}

/// What a symbolic link says.
package struct LinkTargetAnswer: Hashable, Sendable {
  /// The path, without NUL.
  package var target: [UInt8]
  /// Creates an answer.
  package init(_ target: [UInt8]) { self.target = target }
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
