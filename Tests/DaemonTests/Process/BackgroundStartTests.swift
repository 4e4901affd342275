import Glibc
import Simulation
import Support
import Testing

@testable import Daemon

@Suite
struct BackgroundStartTests {
  /// Runs a shell script in the daemon's place.
  private func start(
    _ script: String,
    logFile: String? = nil
  ) -> (BackgroundStart.Outcome, [String]) {
    var notes: [String] = []
    var child: Subprocess?
    let outcome = BackgroundStart.run(
      arguments: ["sh", "-c", script].map { Array($0.utf8) },
      program: "/bin/sh",
      logFile: logFile,
      onChild: { child = $0 },
      note: { notes.append($0) }
    )
    // A real starter is gone by now; here nobody else would reap what it left running, and a child
    // that nobody reaps keeps the test runner from seeing its own.
    if outcome.code == 0 { _ = child?.wait() }
    return (outcome, notes)
  }

  @Test
  func returnsWhenTheDaemonIsReadyAndLetsItLive() {
    let (outcome, notes) = start(
      #"n=$(readlink /proc/$$/fd/* | grep -c leak); "#
        + #"printf "\001note $n\n\001note %s\n\001ready /proc\n" "$(ps -o sid= -p $$ | tr -d ' ')=$$" >&3"#
    )
    #expect(outcome.code == 0)
    #expect(notes.first == "0")
    let session = notes.last?.split(separator: "=")
    #expect(session?.first == session?.last)
  }

  @Test
  func ofAnOldLogOnlyWhatIsNewIsShown() throws {
    let home = try TestDirectory()
    let path = home.path + "/log"
    try FileDescriptor.open(path, [.readWrite, .create]).write(Array("an old story\n".utf8))
    let (silent, _) = start("exit 3", logFile: path)
    #expect(silent.message == "the daemon ended with code 3 before the mount answered")
    let (loud, _) = start("echo the new one >> \(path); exit 3", logFile: path)
    #expect(loud.message?.hasSuffix("; the last it said: the new one") == true)
    let (rotated, _) = start("echo short > \(path); exit 3", logFile: path)
    #expect(rotated.message?.hasSuffix("; the last it said: short") == true)
  }

  @Test
  func aProgramThatCannotBeStartedIsOneSentence() {
    let outcome = BackgroundStart.run(
      arguments: [[0x78]],
      program: "/no/such/program",
      onChild: { _ in },
      note: { _ in }
    )
    #expect(outcome.code == 1)
    #expect(outcome.message?.contains("/no/such/program") == true)
  }
}
