/// How a file is opened.
package struct OpenMode: Hashable, Sendable {
  /// Bytes may be written.
  package var writes = false
  /// The file is emptied.
  package var truncates = false
  /// It must not be there yet; for making one only.
  package var isExclusive = false

  /// Creates a mode that reads only.
  package init() {}

  /// Opens to read.
  package static let reading = OpenMode()

  /// Opens to write.
  package static func writing(
    truncates: Bool = false,
    isExclusive: Bool = false
  ) -> OpenMode {
    var mode = OpenMode()
    mode.writes = true
    mode.truncates = truncates
    mode.isExclusive = isExclusive
    return mode
  }
}

/// Who makes a file, and with which permissions.
package struct NewNode: Hashable, Sendable {
  /// The permission bits, the caller's umask applied.
  package var permissions: UInt16
  /// The owner.
  package var userID: UInt32
  /// The group.
  package var groupID: UInt32

  /// Creates facts.
  package init(permissions: UInt16, userID: UInt32, groupID: UInt32) {
    self.permissions = permissions
    self.userID = userID
    self.groupID = groupID
  }
}

/// What is to be shown by `stat` from now on; what is nil stays.
package struct AttributeChanges: Hashable, Sendable {
  /// The size in bytes: the file is cut, or grows by a hole.
  package var size: Int?
  /// The permission bits.
  package var permissions: UInt16?
  /// The owner.
  package var userID: UInt32?
  /// The group.
  package var groupID: UInt32?
  /// The time of the last modification.
  package var modified: NewTime?
  /// The time of the last access.
  package var accessed: NewTime?

  /// A time to be set.
  package enum NewTime: Hashable, Sendable {
    /// The present.
    case now
    /// This one.
    case at(Timestamp)
  }

  /// Creates changes of nothing.
  package init() {}
}

/// What to do with a range of a file.
package enum Allocation: Hashable, Sendable {
  /// Bytes can be written there; the file grows to the range's end.
  case reserved
  /// Bytes can be written there, the size stays.
  case reservedBehindEnd
  /// The bytes are zeros from now on, the size stays.
  case hole
  /// The bytes are zeros from now on; the file grows to the range's end.
  case zeros
}

/// Whether an extended attribute must be there already.
package enum AttributeRule: Hashable, Sendable {
  /// It may or may not.
  case any
  /// It must not.
  case creates
  /// It must.
  case replaces
}
