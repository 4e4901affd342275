import Daemon
import Testing

@Suite
struct HelpTextTests {
  @Test(arguments: CommandName.allCases)
  func everyOptionOfACommandIsInItsHelp(name: CommandName) {
    let text = HelpText.text(for: name)
    for option in Command.named(name).options {
      #expect(text.contains(option.spelling), "\(option)")
      #expect(!Option.named(option, for: name).summary.isEmpty, "\(option)")
    }
  }

  @Test
  func everyCommandIsInTheOverview() {
    let text = HelpText.text(for: nil)
    for name in CommandName.allCases { #expect(text.contains(name.rawValue)) }
  }

  @Test(arguments: [nil] + CommandName.allCases.map(Optional.some))
  func noLineIsWiderThanATerminal(name: CommandName?) {
    for line in HelpText.text(for: name).split(separator: "\n") {
      #expect(line.count <= 100, "\(line)")
    }
  }

  @Test(arguments: CommandName.allCases)
  func examplesAreCommandLinesThatParse(name: CommandName) throws {
    for example in Command.named(name).examples where example.line.hasPrefix("dipper ") {
      let line = example.line.split(separator: "|")[0]
      let words = line.split(separator: " ").dropFirst().map { Array($0.utf8) }
      guard case .run(let parsed) = try CommandParser.parse(program: "dipper", arguments: words)
      else {
        Issue.record("not a command: \(example.line)")
        continue
      }
      #expect(parsed.command == name)
    }
  }

  @Test(arguments: CommandName.allCases)
  func onlyWhatMountsSpeaksOfTheLogOfAMount(name: CommandName) {
    let speaks = HelpText.text(for: name).contains("the system's log for a")
    #expect(speaks == (name == .mount || name == .demo))
  }

  @Test
  func whatAnUploadRefusesItsHelpSays() {
    #expect(Option.named(.versionID, for: .put).summary.hasPrefix("refused"))
    #expect(refusal("put", "f", "s3://b/k", "--version-id", "A")?.contains("leave it out") == true)
  }
}
