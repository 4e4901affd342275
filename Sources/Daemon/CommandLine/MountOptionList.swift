/// Reads `-o` lists as mount(8), fstab and libfuse write them: `name,name=value,...`.
///
/// A comma or backslash inside a value is written with a backslash before it.
enum MountOptionList {
  /// Hands each option to `body`, without the words that mount(8) adds for itself and without the
  /// kernel's flags, which go to `flags`.
  static func parse(
    _ list: String,
    flags: inout MountFlags,
    _ body: (_ name: String, _ value: String?) throws(UsageError) -> Void
  ) throws(UsageError) {
    for item in split(list) where !item.isEmpty {
      let (name, value) = item.splitOnce("=")
      guard !name.isEmpty else {
        throw UsageError("-o has an option without a name: '\(item)'")
      }
      if value == nil, flags.take(name) { continue }
      if !isNoise(name) {
        try body(name, value)
      }
    }
  }

  /// Splits at the commas that no backslash precedes, and takes the backslashes away.
  static func split(_ list: String) -> [String] {
    var items: [String] = [""]
    var isEscaped = false
    for character in list {
      if isEscaped {
        if character != ",", character != "\\" { items[items.count - 1].append("\\") }
        items[items.count - 1].append(character)
        isEscaped = false
      } else if character == "\\" {
        isEscaped = true
      } else if character == "," {
        items.append("")
      } else {
        items[items.count - 1].append(character)
      }
    }
    if isEscaped { items[items.count - 1].append("\\") }
    return items
  }

  /// Words for mount(8) and systemd, or ones that change nothing here: a bucket has no devices, no
  /// programs that change the user, and no access times.
  private static func isNoise(_ name: String) -> Bool {
    noise.contains(name) || name.hasPrefix("x-") || name.hasPrefix("comment")
  }

  private static let noise: Set<String> = [
    "auto", "noauto", "nofail", "user", "nouser", "users", "owner", "group", "_netdev",
    "defaults", "suid", "dev", "diratime", "nodiratime", "relatime", "norelatime", "strictatime",
    "lazytime", "bg", "fg",
  ]
}

/// The program as `mount.dipper`: mount(8) calls it with arguments of its own.
///
/// `mount.dipper SOURCE DIRECTORY [-sfnv] [-N NAMESPACE] [-o OPTIONS] [-t TYPE]`
/// (Source: mount(8), "EXTERNAL HELPERS"). Here `-f` is mount(8)'s rehearsal, not the foreground.
enum MountHelper {
  static func parse(_ arguments: [[UInt8]]) throws(UsageError) -> Request {
    var rest = arguments.reversed() as [[UInt8]]
    var passed: [[UInt8]] = []
    var isRehearsal = false
    while let argument = rest.popLast() {
      let text = String(decoding: argument, as: UTF8.self)
      switch text {
      case "-t":
        _ = rest.popLast()
      case "-N":
        throw UsageError("-N is not supported; enter the namespace with nsenter(1) and mount there")
      case "-o", "--options":
        passed.append(Array("-o".utf8))
        if let list = rest.popLast() { passed.append(list) }
      case _ where text.hasPrefix("-") && !text.hasPrefix("--") && isMountLetters(text.dropFirst()):
        if text.contains("f") { isRehearsal = true }
      default:
        passed.append(argument)
      }
    }
    let request = try CommandParser.parse(.mount, arguments: passed)
    if isRehearsal, case .run = request { return .nothing }
    return request
  }

  /// `s` (sloppy), `f` (fake), `n` (no mtab) and `v` (verbose).
  private static func isMountLetters(_ letters: Substring) -> Bool {
    !letters.isEmpty && letters.allSatisfy { "sfnv".contains($0) }
  }
}
