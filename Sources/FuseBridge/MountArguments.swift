internal import CFuse

/// Mount options in the three spellings that they are needed in: mount(2)'s flags, its data, and
/// the `-o` of fusermount3.
struct MountArguments {
  let source: String
  let type: String
  /// mount(2)'s flags.
  private(set) var flags = UInt(MS_NOSUID | MS_NODEV)
  /// What goes into mount(2)'s data as it is.
  private(set) var kernelOptions: [String] = []
  /// The extra options that are flags, for fusermount3.
  private var flagOptions: [String] = []
  private let fsName: String
  private let subtype: String

  /// What an option means to mount(2).
  private enum Meaning {
    case sets(UInt)
    case clears(UInt)
    case belongsToOthers
    case data
  }

  init(_ options: MountOptions) {
    // A line end or a NUL could not be shown in /proc/mounts, or would end the string.
    fsName = String(options.fsName.filter { $0 != "\0" && !$0.isNewline })
    subtype = options.subtype
    source = fsName.isEmpty ? options.subtype : fsName
    type = options.subtype.isEmpty ? "fuse" : "fuse.\(options.subtype)"
    if options.usesDefaultPermissions { add("default_permissions") }
    if options.allowsOther { add("allow_other") }
    if !options.extraOptions.contains(where: { $0.hasPrefix("max_read=") }) {
      add("max_read=\(options.readSizeMax)")
    }
    for option in options.extraOptions { add(option) }
    if options.isReadOnly { add("ro") }
  }

  /// mount(2)'s data for a device that is open as `descriptor`.
  func data(descriptor: Int32, rootMode: UInt32, userID: UInt32, groupID: UInt32) -> String {
    let own = [
      "fd=\(descriptor)", "rootmode=\(String(rootMode, radix: 8))", "user_id=\(userID)",
      "group_id=\(groupID)",
    ]
    return (own + kernelOptions).joined(separator: ",")
  }

  /// The `-o` of fusermount3.
  var fusermountOptions: String {
    var options = ["fsname=\(escaped(source))"]
    if !subtype.isEmpty { options.append("subtype=\(escaped(subtype))") }
    return (options + flagOptions + kernelOptions).joined(separator: ",")
  }

  private mutating func add(_ option: String) {
    switch Self.meaning(of: option) {
    case .belongsToOthers: return
    case .sets(let bits):
      flags |= bits
      flagOptions.append(option)
    case .clears(let bits):
      flags &= ~bits
      flagOptions.append(option)
    case .data:
      if !kernelOptions.contains(option) { kernelOptions.append(option) }
    }
  }

  /// fusermount3 takes a comma or a backslash in a name only behind a backslash.
  private func escaped(_ name: String) -> String {
    var result = ""
    for character in name {
      if character == "," || character == "\\" { result += "\\" }
      result.append(character)
    }
    return result
  }

  // Source: mount(8) "FILESYSTEM-INDEPENDENT MOUNT OPTIONS"; util/fusermount.c of libfuse 3.14.0,
  // which takes the same flags.
  private static func meaning(of option: String) -> Meaning {
    switch option {
    case "ro": .sets(UInt(MS_RDONLY))
    case "rw": .clears(UInt(MS_RDONLY))
    case "nosuid": .sets(UInt(MS_NOSUID))
    case "suid": .clears(UInt(MS_NOSUID))
    case "nodev": .sets(UInt(MS_NODEV))
    case "dev": .clears(UInt(MS_NODEV))
    case "noexec": .sets(UInt(MS_NOEXEC))
    case "exec": .clears(UInt(MS_NOEXEC))
    case "noatime": .sets(UInt(MS_NOATIME))
    case "atime": .clears(UInt(MS_NOATIME))
    case "sync": .sets(UInt(MS_SYNCHRONOUS))
    case "async": .clears(UInt(MS_SYNCHRONOUS))
    case "dirsync": .sets(UInt(MS_DIRSYNC))
    case "", "defaults", "_netdev", "nofail", "auto", "noauto", "user", "users", "nouser",
      "nonempty":
      .belongsToOthers
    default:
      option.hasPrefix("x-") || option.hasPrefix("X-") || option.hasPrefix("comment=")
        ? .belongsToOthers : .data
    }
  }
}
