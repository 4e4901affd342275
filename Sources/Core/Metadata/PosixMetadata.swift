/// What `stat` shows of a file beyond what every object has: kept in user metadata, in a spelling that
/// other programs that keep files in buckets know too.
///
/// What isn't given is the mount's: its `--uid`, `--file-mode`, and the object's own `Last-Modified`.
package struct PosixMetadata: Hashable, Sendable {
  /// File, directory or link; nil if it isn't said.
  package var kind: FileKind?
  /// The permission bits with set-user-ID, set-group-ID and sticky, such as `0o644`.
  package var permissions: UInt16?
  /// The owner.
  package var userID: UInt32?
  /// The group.
  package var groupID: UInt32?
  /// When the content was last modified.
  package var modified: Timestamp?
  /// When a program last said that it was accessed; reads aren't recorded.
  package var accessed: Timestamp?

  /// Creates metadata that says nothing.
  package init() {}

  /// True if it says nothing.
  package var isEmpty: Bool { self == PosixMetadata() }

  /// A write takes the rights away that a program would get by being set-user-id.
  ///
  /// - Returns: true if there were any.
  package mutating func wasWritten() -> Bool {
    // Source: inode(7), "set-group-ID bit": without the group's right to execute it means a lock.
    guard let before = permissions else { return false }
    let after = before & ~(before & 0o010 != 0 ? 0o6000 : 0o4000)
    permissions = after
    return after != before
  }
}

/// In which spelling a mount writes `PosixMetadata`; every spelling is read.
package enum MetadataStyle: String, Hashable, Sendable, CaseIterable {
  /// `mode`, `uid`, `gid` as decimal numbers, `mtime` and `atime` as seconds with a fraction.
  ///
  /// s3fs reads all of it, rclone the time.
  /// Source: s3fs-fuse, doc/man "s3fs" and src/metaheader.cpp; rclone documentation, "S3", "Modification
  /// times".
  case s3fs
  /// `file-owner`, `file-group`, `file-permissions` in octal, `file-mtime` and `file-atime` in nanoseconds
  /// with `ns` behind.
  ///
  /// Source: AWS DataSync User Guide, "Understanding how DataSync handles file and object metadata";
  /// Amazon FSx for Lustre User Guide, "POSIX metadata support for data repositories".
  case datasync
  /// Nothing is written: attributes that are changed last as long as the mount.
  case none
}

extension PosixMetadata {
  /// The names that a style uses.
  private struct Names {
    var mode: String
    var userID: String
    var groupID: String
    var modified: String
    var accessed: String
  }

  private static let s3fsNames = Names(
    mode: "mode",
    userID: "uid",
    groupID: "gid",
    modified: "mtime",
    accessed: "atime"
  )
  private static let datasyncNames = Names(
    mode: "file-permissions",
    userID: "file-owner",
    groupID: "file-group",
    modified: "file-mtime",
    accessed: "file-atime"
  )

  /// The names of user metadata that belong to one of the styles, so are no attribute of the user's.
  ///
  /// s3fs also keeps the time of the last change; it is read by nobody here, and goes when the attributes
  /// are written anew.
  package static let reservedNames: Set<String> = [
    "mode", "uid", "gid", "mtime", "atime", "ctime",
    "file-permissions", "file-owner", "file-group", "file-mtime", "file-atime", "file-acl",
  ]

  /// Reads what any of the styles says; what can't be understood counts as not said.
  ///
  /// - Parameter metadata: user metadata by lower-case name.
  package init(_ metadata: [String: String]) {
    func value<Value>(_ names: [String], _ read: (Substring) -> Value?) -> Value? {
      for name in names {
        if let text = metadata[name]?.trimmed, let value = read(text) { return value }
      }
      return nil
    }
    let (first, second) = (Self.s3fsNames, Self.datasyncNames)
    if let mode = value([first.mode], Self.mode) ?? value([second.mode], Self.octal) {
      kind = Self.kind(ofMode: mode)
      permissions = UInt16(mode & 0o7777)
    }
    userID = value([first.userID, second.userID]) { UInt32($0) }
    groupID = value([first.groupID, second.groupID]) { UInt32($0) }
    modified = value([first.modified, second.modified], Self.time)
    accessed = value([first.accessed, second.accessed], Self.time)
  }

  /// The user metadata that says the same in `style`.
  package func metadata(_ style: MetadataStyle) -> [String: String] {
    switch style {
    case .none: [:]
    case .s3fs:
      written(
        Self.s3fsNames,
        mode: { String($0) },
        time: { Self.secondsText($0) }
      )
    case .datasync:
      written(
        Self.datasyncNames,
        mode: { "0" + String($0, radix: 8) },
        time: { "\($0.nanoseconds)ns" }
      )
    }
  }

  /// `metadata` with what it says of these attributes replaced by this; the rest stays.
  package func replacing(in metadata: [String: String], style: MetadataStyle) -> [String: String] {
    guard style != .none else { return metadata }
    return metadata.filter { !Self.reservedNames.contains($0.key) }
      .merging(self.metadata(style)) { $1 }
  }

  /// User metadata that is about to be stored, with the time that a program has set; nil if none has since
  /// the bytes were written, so that the store's own time is right and what was there before isn't.
  package static func stamped(
    _ metadata: [String: String],
    modified: Timestamp?,
    style: MetadataStyle
  ) -> [String: String] {
    guard PosixMetadata(metadata).modified != modified else { return metadata }
    var time = PosixMetadata()
    time.modified = modified
    return metadata.filter { $0.key != s3fsNames.modified && $0.key != datasyncNames.modified }
      .merging(time.metadata(style)) { $1 }
  }

  private func written(
    _ names: Names,
    mode modeText: (UInt32) -> String,
    time timeText: (Timestamp) -> String
  ) -> [String: String] {
    var metadata: [String: String] = [:]
    if let permissions {
      let kind = kind ?? .file
      metadata[names.mode] = modeText(kind.modeBits | UInt32(permissions & 0o7777))
    }
    if let userID { metadata[names.userID] = String(userID) }
    if let groupID { metadata[names.groupID] = String(groupID) }
    if let modified { metadata[names.modified] = timeText(modified) }
    if let accessed { metadata[names.accessed] = timeText(accessed) }
    return metadata
  }

  /// A mode as s3fs writes it, in decimal, or as rclone does, in octal with a zero before it.
  ///
  /// Source: rclone documentation, "Metadata support", the local backend's `mode`.
  private static func mode(_ text: Substring) -> UInt32? {
    text.hasPrefix("0") && text.count > 1 ? octal(text) : UInt32(text)
  }

  private static func octal(_ text: Substring) -> UInt32? { UInt32(text, radix: 8) }

  private static func kind(ofMode mode: UInt32) -> FileKind? {
    switch mode & 0o170000 {
    case FileKind.file.modeBits: .file
    case FileKind.directory.modeBits: .directory
    case FileKind.symbolicLink.modeBits: .symbolicLink
    default: nil
    }
  }

  /// Reads seconds with an optional fraction, or nanoseconds with `ns` behind.
  private static func time(_ text: Substring) -> Timestamp? {
    if text.hasSuffix("ns") { return Int64(text.dropLast(2)).map(Timestamp.init(nanoseconds:)) }
    let isNegative = text.hasPrefix("-")
    let parts = (isNegative ? text.dropFirst() : text)
      .split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard let whole = parts.first, whole.isDigits, let seconds = Int64(whole) else { return nil }
    var nanoseconds: Int64 = 0
    if parts.count == 2 {
      let digits = parts[1].prefix(9)
      guard parts[1].isDigits,
        let fraction = Int64(digits + String(repeating: "0", count: 9 - digits.count))
      else { return nil }
      nanoseconds = fraction
    }
    let (product, isTooLarge) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, isOver) = product.addingReportingOverflow(nanoseconds)
    guard !isTooLarge, !isOver else { return nil }
    return Timestamp(nanoseconds: isNegative ? -sum : sum)
  }

  /// Seconds with as many digits of a fraction as are needed.
  private static func secondsText(_ time: Timestamp) -> String {
    let magnitude = time.nanoseconds.magnitude
    let (seconds, rest) = magnitude.quotientAndRemainder(dividingBy: 1_000_000_000)
    let sign = time.nanoseconds < 0 ? "-" : ""
    guard rest > 0 else { return "\(sign)\(seconds)" }
    let digits = String(rest)
    var fraction = Substring(String(repeating: "0", count: 9 - digits.count) + digits)
    while fraction.last == "0" { fraction.removeLast() }
    return "\(sign)\(seconds).\(fraction)"
  }
}

extension FileKind {
  /// The bits of `st_mode` that tell the kind.
  package var modeBits: UInt32 {
    switch self {
    case .file: 0o100000
    case .directory: 0o040000
    case .symbolicLink: 0o120000
    }
  }
}

extension Substring {
  fileprivate var isDigits: Bool { !isEmpty && utf8.allSatisfy { (0x30...0x39).contains($0) } }
}

extension String {
  fileprivate var trimmed: Substring {
    var text = self[...]
    while text.first == " " { text.removeFirst() }
    while text.last == " " { text.removeLast() }
    return text
  }
}
