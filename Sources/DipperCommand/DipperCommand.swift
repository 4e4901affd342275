internal import Daemon
internal import Dipper
internal import Support

/// The program.
@main
struct DipperCommand {
  static func main() {
    FileDescriptor.occupyStandardNumbers()
    AddressSpace.prepare()
    // Before all else, while there is one thread: it changes the environment.
    let report = StartReport()
    // It was started as /proc/self/exe, which ps, top and pkill would show.
    if report.isBackground { Thread.name("dipper") }
    let arguments = rawArguments
    let program = arguments.first.map { String(decoding: $0, as: UTF8.self) } ?? "dipper"
    let request: Request
    do throws(UsageError) {
      request = try CommandParser.parse(program: program, arguments: Array(arguments.dropFirst()))
    } catch {
      Console.complain(error.message)
      Thread.exitProcess(ExitCode.usage.rawValue)
    }
    switch request {
    case .help(let command): Console.write(HelpText.text(for: command))
    case .version: Console.write("dipper \(Release.version)\n")
    case .nothing: break
    case .run(let invocation):
      let code = Program(invocation, arguments: arguments, report: report).run()
      Thread.exitProcess(Console.exitCode(code).rawValue)
    }
    Thread.exitProcess(Console.exitCode(.done).rawValue)
  }

  /// The arguments as bytes: `CommandLine.arguments` repairs what is not UTF-8, and a key need not be.
  private static var rawArguments: [[UInt8]] {
    (0..<Int(CommandLine.argc)).compactMap { index in
      guard let argument = CommandLine.unsafeArgv[index] else { return nil }
      var bytes: [UInt8] = []
      var next = argument
      while next.pointee != 0 {
        bytes.append(UInt8(bitPattern: next.pointee))
        next += 1
      }
      return bytes
    }
  }
}
