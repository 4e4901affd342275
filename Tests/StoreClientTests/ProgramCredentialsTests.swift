import Core
import StoreWire
import Support
import Testing

@testable import StoreClient

@Suite struct ProgramCredentialsTests {
  private static let environment = ["HOME": "/h", "AWS_PROFILE": "p"]
  private static let config = ["/h/.aws/config": "[profile p]\ncredential_process = get \"a b\"\n"]

  private static func output(_ text: String) -> ProgramOutput {
    ProgramOutput(output: Array(text.utf8))
  }

  private static let keys =
    "\"AccessKeyId\": \"AKIDPROGRAM\", \"SecretAccessKey\": \"\(CredentialBench.secret)\""

  private func find(_ outputs: [ProgramOutput]) async -> (Credentials?, String, [[String]]) {
    let bench = CredentialBench(files: Self.config, programs: ScriptedPrograms(outputs))
    let (keys, failure) = await bench.find(Self.environment)
    #expect(!failure.contains(CredentialBench.secret))
    #expect(bench.client.requests.isEmpty)
    return (keys, failure, bench.programs.commands)
  }

  @Test func outputIsRead() async {
    let (keys, _, commands) = await find([
      Self.output(
        "{\"Version\": 1, \(Self.keys), \"SessionToken\": \"T\", "
          + "\"Expiration\": \"2026-11-30T09:30:00+00:00\"}"
      )
    ])
    #expect(keys?.accessKey == "AKIDPROGRAM")
    #expect(keys?.sessionToken == "T")
    #expect(keys?.expiry?.iso8601 == "2026-11-30T09:30:00Z")
    #expect(commands == [["get", "a b"]])
  }

  @Test(arguments: [
    ("", "isn't the JSON"), ("null", "the output of"), ("{\"Version\": 1, ", "isn't the JSON"),
    ("[1]", "wrong type"), ("{\"Version\": \"1\", \(keys)}", "Version is of the wrong type"),
    ("{\(keys)}", "Version 1"), ("{\"Version\": 2, \(keys)}", "Version 1"),
    ("{\"Version\": 1}", "AccessKeyId"),
    ("{\"Version\": 1, \"AccessKeyId\": \"A\"}", "not SecretAccessKey"),
    ("{\"Version\": 1, \(keys), \"Expiration\": \"soon\"}", "isn't a date"),
    ("{\"Version\": 1, \(keys), \"Expiration\": \"2026-11-30T08:29:59Z\"}", "expired at"),
    ("{\"Version\": 1, \(keys), \"SessionToken\": \"a\\nb\"}", "control character"),
    (String(repeating: "[", count: 60_000), "JSON"),
  ])
  func unusableOutputIsOneSentence(_ text: String, _ words: String) async {
    let (keys, failure, _) = await find([Self.output(text)])
    #expect(keys == nil)
    #expect(failure.contains(words), "\(failure)")
    #expect(failure.contains("profile \"p\""), "\(failure)")
  }

  @Test func failureSaysWhatTheProgramSaidWithoutItsSecrets() async {
    let secret = CredentialBench.secret
    let (_, failure, _) = await find([
      ProgramOutput(
        exitCode: 3,
        output: Array("{\(Self.keys)}".utf8),
        errors: Array("no session for user x; key \(secret), password=short1\nlog in\n".utf8)
      )
    ])
    #expect(failure.contains("ended with code 3"))
    #expect(failure.contains("no session for user x"))
    #expect(failure.contains("***"))
    #expect(!failure.contains("short1"))
    #expect(!failure.contains("\n"))
  }

  @Test func itHasNoMoreTimeThanWhoAsksForCredentials() async throws {
    let programs = ScriptedPrograms([Self.output("{\"Version\": 1, \(Self.keys)}")])
    let bench = CredentialBench(programs: programs)
    let source = ProgramCredentials(command: "get", owner: "p", services: bench.services)
    _ = try await source.look(by: bench.time.now + .seconds(7))
    _ = try await source.look(by: bench.time.now + .seconds(700))
    #expect(programs.patience == [.seconds(7), .seconds(60)])
  }

  @Test func hangAndFloodAndCrashAreNamed() async {
    #expect(await find([ProgramOutput(exitCode: nil, isLate: true)]).1.contains("took too long"))
    #expect(await find([ProgramOutput(exitCode: nil, isTooLarge: true)]).1.contains("more than"))
    #expect(await find([ProgramOutput(exitCode: nil)]).1.contains("signal"))
    #expect(await find([]).1.contains("can't be run: No such file"))
  }

  @Test(
    arguments: [
      ("a b  c", ["a", "b", "c"]), ("\"a b\" 'c \" d'", ["a b", "c \" d"]),
      ("a\\ b \"c\\\"d\" '\\'", ["a b", "c\"d", "\\"]), ("a \"\" b", ["a", "", "b"]),
      ("\"C:\\x\" y", ["C:\\x", "y"]), ("  ", nil), ("", nil), ("'a", nil), ("a\\", nil),
      ("'' a", nil), ("$(rm) `x` *", ["$(rm)", "`x`", "*"]),
    ] as [(String, [String]?)]
  )
  func commandIsSplitAsAShellDoes(_ line: String, _ words: [String]?) {
    #expect(CommandWords.split(line) == words)
  }

  // The machine's own programs

  private let timers = Timers()

  private func run(
    _ script: String,
    patience: Duration = .seconds(20)
  ) async throws -> ProgramOutput {
    try await SystemProgramRunner().run(["/bin/sh", "-c", script], patience: patience)
  }

  @Test func programIsRunWithoutInput() async throws {
    let output = try await run("cat; echo out; echo err >&2; exit 7")
    #expect(output.exitCode == 7)
    #expect(output.output == Array("out\n".utf8))
    #expect(output.errors == Array("err\n".utf8))
  }

  @Test func programThatHangsIsEndedWithItsChildren() async throws {
    let start = SystemClock().now
    let output = try await run("sleep 300 & echo $!; sleep 300", patience: .milliseconds(300))
    #expect(output.isLate)
    #expect(output.exitCode == nil)
    #expect(SystemClock().now - start < .seconds(15))
    let child = String(decoding: output.output, as: UTF8.self).split(separator: "\n").first
    let processID = try #require(child.flatMap { Int($0) }, "it said who its child is")
    let end = SystemClock().now + .seconds(10)
    while isRunning(processID), SystemClock().now < end {
      await timers.sleep(until: SystemClock().now + .milliseconds(1))
    }
    #expect(!isRunning(processID), "its child has ended with it")
  }

  /// A process is there and hasn't ended; one that nobody has waited for is still there.
  private func isRunning(_ processID: Int) -> Bool {
    guard let file = try? FileDescriptor.open("/proc/\(processID)/stat", .read),
      let bytes = try? file.bytes(ByteRange(0, 4096))
    else { return false }
    // Source: proc(5): the state is behind the name in brackets.
    return bytes.split(separator: UInt8(ascii: ")")).last?.dropFirst().first != UInt8(ascii: "Z")
  }

  @Test func whatLiesInThePipeWhenItEndsIsReadWhole() async throws {
    let output = try await run("exec dd if=/dev/zero bs=60000 count=1 2>/dev/null")
    #expect(output.exitCode == 0)
    #expect(output.output.count == 60_000)
  }

  @Test func childThatKeepsThePipeOpenIsNotWaitedFor() async throws {
    let start = SystemClock().now
    let output = try await run("sleep 30 & echo done")
    #expect(output.output == Array("done\n".utf8))
    #expect(SystemClock().now - start < .seconds(15))
  }

  @Test func floodIsCutOff() async throws {
    let output = try await run("yes 1>&2 & yes")
    #expect(output.isTooLarge)
    #expect(!output.isLate, "it is ended when it has written too much")
    #expect(output.output.count == SystemProgramRunner.outputSizeMax)
    #expect(output.errors.count <= SystemProgramRunner.errorSizeMax)
  }

  @Test func programThatIsNotThereIsAnError() async {
    await #expect(throws: DiskFailure.self) {
      try await SystemProgramRunner().run(["/no/such/program"], patience: .seconds(5))
    }
  }
}
