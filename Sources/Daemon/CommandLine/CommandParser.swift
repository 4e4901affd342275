internal import Core

/// Turns the arguments of a program into a request, or into one sentence on what is wrong with them.
///
/// Options and operands may come in any order; `--` ends the options. `--name value`,
/// `--name=value`, `-x value` and joined letters (`-lr`) are understood, dashes and underscores are
/// the same. The program's own name decides too: as `mount.dipper` it is mount(8)'s helper.
package struct CommandParser {
  private var arguments: [[UInt8]]
  private var command: CommandName?
  private var operands: [Invocation.Operand] = []
  private var options: [OptionName: OptionValue] = [:]
  private var mountFlags = MountFlags()

  /// Reads a command line.
  ///
  /// - Parameters:
  ///   - program: the name that the program was called by, with or without its directory.
  ///   - arguments: the arguments behind it.
  /// - Returns: what it asks for.
  /// - Throws: `UsageError` with one sentence.
  package static func parse(
    program: String,
    arguments: [[UInt8]]
  ) throws(UsageError) -> Request {
    let name = program.split(separator: "/").last.map(String.init) ?? program
    if name.hasPrefix("mount.") { return try MountHelper.parse(arguments) }
    var parser = CommandParser(arguments: arguments)
    return try parser.request()
  }

  /// Reads the arguments of `command`, without the word itself.
  static func parse(
    _ command: CommandName,
    arguments: [[UInt8]]
  ) throws(UsageError) -> Request {
    var parser = CommandParser(arguments: arguments)
    parser.command = command
    return try parser.request()
  }

  private init(arguments: [[UInt8]]) {
    self.arguments = arguments.reversed()
  }

  private mutating func request() throws(UsageError) -> Request {
    var takesOptions = true
    while let argument = arguments.popLast() {
      let text = String(decoding: argument, as: UTF8.self)
      if !takesOptions || text == "-" || !text.hasPrefix("-") {
        try takeWord(argument)
      } else if text == "--" {
        takesOptions = false
      } else if text.hasPrefix("--") {
        try takeLong(String(text.dropFirst(2)))
      } else {
        try takeLetters(String(text.dropFirst()))
      }
    }
    if options[.help] != nil { return .help(command) }
    if options[.version] != nil { return .version }
    guard let command else {
      throw UsageError("dipper needs a command, such as 'dipper demo'; 'dipper --help' lists them")
    }
    let invocation = Invocation(
      command,
      operands: operands,
      options: options,
      mountFlags: mountFlags
    )
    try OptionRules.check(invocation)
    return .run(invocation)
  }

  /// The first word is the command; mount(8)'s own helper for FUSE leaves it out and starts with the
  /// source.
  private mutating func takeWord(_ argument: [UInt8]) throws(UsageError) {
    guard command == nil else {
      operands.append(Invocation.Operand(argument))
      return
    }
    let text = String(decoding: argument, as: UTF8.self)
    if let name = CommandName(rawValue: text) {
      command = name
    } else if text.contains("://") {
      command = .mount
      operands.append(Invocation.Operand(argument))
    } else if text == "help" {
      options[.help] = .flag
      if let next = arguments.popLast() { try takeWord(next) }
    } else {
      let guess = Spelling.nearest(to: text, among: CommandName.allCases.map(\.rawValue))
      throw UsageError(
        "there is no command '\(argument.printable)'; "
          + (guess.map { "did you mean '\($0)'?" } ?? "'dipper --help' lists them")
      )
    }
  }

  private mutating func takeLong(_ text: String) throws(UsageError) {
    let (name, attached) = text.splitOnce("=")
    let option = try Self.find(name, for: command, spelled: "--\(name)")
    try take(option, attached: attached, spelled: option.name.spelling)
  }

  private mutating func takeLetters(_ letters: String) throws(UsageError) {
    var rest = letters[...]
    while let letter = rest.popFirst() {
      guard let option = Option.all.first(where: { $0.letter == letter }),
        Self.accepts(option.name, command)
      else {
        throw UsageError(
          "unknown option -\(String(letter).utf8.printable); \(Self.where(command)) lists the options"
        )
      }
      guard option.value == .flag else {
        try take(option, attached: rest.isEmpty ? nil : String(rest), spelled: "-\(letter)")
        return
      }
      options[option.name] = .flag
    }
  }

  private mutating func take(
    _ option: Option,
    attached: String?,
    spelled: String
  ) throws(UsageError) {
    if option.value == .flag {
      guard attached == nil else { throw UsageError("\(spelled) takes no value") }
      options[option.name] = .flag
      return
    }
    let text: String
    if let attached {
      text = attached
    } else {
      guard let next = arguments.popLast() else {
        throw UsageError("\(spelled) needs \(option.value.expectation)")
      }
      text = String(decoding: next, as: UTF8.self)
      // A forgotten value would otherwise swallow the next option.
      if text.hasPrefix("--"), OptionName.named(String(text.dropFirst(2)).splitOnce("=").0) != nil {
        throw UsageError("\(spelled) needs \(option.value.expectation), but \(text) follows it")
      }
    }
    if option.name == .mountOption {
      var flags = mountFlags
      try MountOptionList.parse(text, flags: &flags) { (name, value) throws(UsageError) in
        try set(Self.find(name, for: .mount, spelled: "-o \(name)"), value, spelled: "-o \(name)")
      }
      mountFlags = flags
      if flags.isReadOnly == true { options[.readOnly] = .flag }
    } else {
      try set(option, text, spelled: spelled)
    }
  }

  private mutating func set(
    _ option: Option,
    _ text: String?,
    spelled: String
  ) throws(UsageError) {
    guard let value = option.value.parse(text ?? "") else {
      if option.value == .flag { throw UsageError("\(spelled) takes no value") }
      let what = text.map { "not '\($0.utf8.printable)'" } ?? "but has none"
      throw UsageError("\(spelled) needs \(option.value.expectation), \(what)")
    }
    options[option.name] = options[option.name]?.followed(by: value) ?? value
  }

  private static func find(
    _ name: String,
    for command: CommandName?,
    spelled: String
  ) throws(UsageError) -> Option {
    let known = OptionName.named(name)
    if let known, accepts(known, command) { return Option.named(known, for: command) }
    let shown = spelled.utf8.printable
    if known != nil, let command {
      throw UsageError(
        "\(shown) is not an option of '\(command)'; \(self.where(command)) lists them"
      )
    }
    let candidates = command.map { Command.named($0).options.map(\.rawValue) } ?? []
    let guess = Spelling.nearest(
      to: name.replacing("_", with: "-"),
      among: candidates + ["help", "version"]
    )
    throw UsageError(
      "unknown option \(shown); "
        + (guess.map { "did you mean --\($0)?" } ?? "\(self.where(command)) lists the options")
    )
  }

  private static func accepts(_ name: OptionName, _ command: CommandName?) -> Bool {
    if name == .help || name == .version { return true }
    guard let command else { return false }
    return Command.named(command).options.contains(name)
  }

  private static func `where`(_ command: CommandName?) -> String {
    command.map { "'dipper \($0) --help'" } ?? "'dipper --help'"
  }
}

extension OptionName {
  /// The option of this long name, dashes or underscores.
  static func named(_ name: String) -> OptionName? {
    guard name.utf8.count > 1 else { return nil }
    return OptionName(rawValue: name.replacing("_", with: "-"))
  }
}

extension String {
  /// What stands before and behind the first `separator`; nil behind it if there is none.
  func splitOnce(_ separator: Character) -> (String, String?) {
    guard let index = firstIndex(of: separator) else { return (self, nil) }
    return (String(self[..<index]), String(self[self.index(after: index)...]))
  }
}
