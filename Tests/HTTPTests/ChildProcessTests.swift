import Core
import Glibc
import Simulation
import Support
import Testing

/// The owner of processes that tests of several targets use.
@Suite struct ChildProcessTests {
  @Test func aProgramsOutputAndStatusAreKept() async throws {
    let (exit, output) = try await ChildProcess.run(
      "sh",
      ["-c", "echo out; echo err >&2; exit 3"]
    )
    #expect(exit == .status(3))
    #expect(output == "out\nerr\n")
  }

  @Test func theEnvironmentIsTheTestsOwnWithChanges() async throws {
    let (_, output) = try await ChildProcess.run(
      "sh",
      ["-c", "echo \"$ADDED ${HOME-none} ${PATH:+path}\""],
      environment: ["ADDED": "yes", "HOME": nil]
    )
    #expect(output == "yes none path\n")
  }

  @Test func aProgramThatCannotBeStartedSaysWhy() {
    #expect(throws: DiskFailure.self) { try ChildProcess("/nowhere/program") }
  }

  @Test func aLineIsWaitedForAndInputIsSent() async throws {
    let child = try ChildProcess("cat")
    try child.send("one\ntwo\n")
    #expect(try await child.line { $0.hasPrefix("t") } == "two")
    #expect(try await child.line { $0.hasPrefix("o") } == "one")
    child.closeInput()
    #expect(try await child.exit() == .status(0))
    await #expect(throws: ChildProcess.Failure.self) { try await child.line { $0 == "three" } }
  }

  @Test func waitingEndsAtItsLimit() async throws {
    let child = try ChildProcess("cat")
    await #expect(throws: ChildProcess.Failure.self) {
      try await child.line(within: .milliseconds(20)) { _ in true }
    }
  }

  @Test func aProgramEndsByASignalAndWithItsOwner() async throws {
    var child: ChildProcess? = try ChildProcess("sleep", ["1000"])
    child?.signal(SIGTERM)
    #expect(try await child?.exit() == .signal(SIGTERM))

    child = try ChildProcess("sleep", ["1000"])
    let id = try #require(child?.id)
    child = nil
    try await eventually { Glibc.kill(id, 0) == -1 && errno == ESRCH }
  }

  @Test func aProgramInheritsNoDescriptors() async throws {
    // Without O_CLOEXEC, as other code in the process might have it.
    let leaked = FileDescriptor(owning: dup(STDERR_FILENO))
    let path = "/proc/self/fd/\(leaked.number)"
    #expect(access(path, F_OK) == 0)
    let (exit, _) = try await ChildProcess.run("test", ["-e", path])
    withExtendedLifetime(leaked) { #expect(exit == .status(1)) }
  }
}
