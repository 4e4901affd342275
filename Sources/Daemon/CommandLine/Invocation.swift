internal import Core
internal import Dipper

/// A command line that has been understood: the command, its operands and its options.
package struct Invocation: Hashable, Sendable {
  /// The command.
  package var command: CommandName
  /// The operands, as bytes: a key need not be UTF-8.
  package var operands: [Operand]
  /// The options that were given, the last value of each, or all of one that may come again.
  package var options: [OptionName: OptionValue]
  /// The kernel's flags of a mount that `-o` asked for.
  package var mountFlags: MountFlags

  /// One operand.
  package struct Operand: Hashable, Sendable {
    /// The bytes as they were given.
    package let bytes: [UInt8]

    /// Creates an operand.
    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The operand as a path of a local file.
    package func path(named name: String) throws(UsageError) -> String {
      guard let text = String(validating: bytes, as: UTF8.self), !text.isEmpty else {
        throw UsageError("\(name) must be a path in UTF-8, and not empty")
      }
      try refuseURL(named: name)
      return text
    }

    /// True if it begins as a bucket's URL does.
    package var isURL: Bool {
      BucketURL.Scheme.allCases.contains { bytes.starts(with: Array("\($0.rawValue)://".utf8)) }
    }

    /// Refuses a bucket's URL where a path belongs.
    package func refuseURL(named name: String) throws(UsageError) {
      // A directory that is called so can still be named, as ./s3:/x.
      guard isURL else { return }
      throw UsageError(
        "\(name) must be a path on this machine, and '\(bytes.printable)' is a bucket's URL"
      )
    }
  }

  /// Creates an invocation.
  package init(
    _ command: CommandName,
    operands: [Operand] = [],
    options: [OptionName: OptionValue] = [:],
    mountFlags: MountFlags = MountFlags()
  ) {
    self.command = command
    self.operands = operands
    self.options = options
    self.mountFlags = mountFlags
  }

  /// Returns true if the option was given.
  package func has(_ name: OptionName) -> Bool { options[name] != nil }

  /// The option's text, if it was given.
  package func text(_ name: OptionName) -> String? {
    if case .text(let text) = options[name] { text } else { nil }
  }

  /// The option's size, rate, count, id or mode, if it was given.
  package func number(_ name: OptionName) -> Int? {
    if case .number(let number) = options[name] { number } else { nil }
  }

  /// The option's time, if it was given.
  package func duration(_ name: OptionName) -> Duration? {
    if case .duration(let duration) = options[name] { duration } else { nil }
  }

  /// The option's names and values; none if it was not given.
  package func pairs(_ name: OptionName) -> [String: String] {
    if case .pairs(let pairs) = options[name] { pairs } else { [:] }
  }
}

/// What a command line asks for.
package enum Request: Hashable, Sendable {
  /// Carry out a command.
  case run(Invocation)
  /// Show the help of a command, or of all.
  case help(CommandName?)
  /// Show the version.
  case version
  /// Do nothing, successfully: mount(8) asked for a rehearsal.
  case nothing
}
