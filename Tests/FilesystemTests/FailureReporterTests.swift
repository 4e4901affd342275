import Core
import Glibc
import Simulation
import Support
import Testing

@testable import Filesystem

@Suite struct FailureReporterTests {
  private let clock = SimulatedClock()
  private let errors = ErrorRing()
  private let path = "/tmp/dipper-test-log-\(UInt64.random(in: 0 ... .max))"

  /// A reporter whose log can be read.
  private func reporter() throws -> FailureReporter {
    let file = try FileDescriptor.open(path, [.readWrite, .create, .exclusive])
    let log = Log(level: .info, target: .descriptor(file), time: clock)
    return FailureReporter(log: log, errors: errors, time: clock)
  }

  private func lines() throws -> [String] {
    let bytes = try SmallFile.read(path)
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
  }

  @Test func aFailureIsOneEntryForAWhile() throws {
    let reporter = try reporter()
    defer { unlink(path) }
    func report(_ name: StaticString, _ path: String, _ code: FileError.Code) {
      let operation = FailureReporter.Operation(name: name, path: path)
      reporter.report(FileError(code, "a reason"), operation)
    }
    for _ in 0..<3 { report("lookup", "f", .timedOut) }
    #expect(errors.all.count == 1)
    report("lookup", "g", .timedOut)
    report("read", "f", .timedOut)
    report("lookup", "f", .accessDenied)
    #expect(errors.all.count == 4, "another path, operation or errno is another failure")
    clock.advance(by: .milliseconds(499))
    report("lookup", "f", .timedOut)
    #expect(errors.all.count == 4)
    clock.advance(by: .milliseconds(1))
    report("lookup", "f", .timedOut)
    #expect(errors.all.count == 5)
    #expect(try lines().count == 3, "the log tells a kind once in ten seconds")
  }

  @Test func theLastFailureOfANodeIsKeptUntilTheKernelForgetsIt() throws {
    let reporter = try reporter()
    defer { unlink(path) }
    for (number, code) in [(2, FileError.Code.stale), (2, .timedOut), (3, .accessDenied)] {
      let node = NodeID(UInt64(number))
      let operation = FailureReporter.Operation(name: "read", path: "f", node: node)
      reporter.report(FileError(code, "a reason"), operation)
    }
    #expect(reporter.lastError(of: NodeID(2)) == "read: ETIMEDOUT: a reason")
    reporter.forget(NodeID(2))
    #expect(reporter.lastError(of: NodeID(2)) == "")
    #expect(reporter.lastError(of: NodeID(3)) == "read: EACCES: a reason")
  }

  @Test func theNodesWhoseLastFailureIsKeptAreBounded() throws {
    let reporter = try reporter()
    defer { unlink(path) }
    for number in 2..<5000 as Range<UInt64> {
      let operation = FailureReporter.Operation(name: "read", path: "f", node: NodeID(number))
      reporter.report(FileError(.stale, "a reason"), operation)
    }
    #expect(reporter.lastError(of: NodeID(4999)) == "read: ESTALE: a reason")
    let keptCount = (2..<5000 as Range<UInt64>).count { reporter.lastError(of: NodeID($0)) != "" }
    #expect(1...1024 ~= keptCount)
  }

  @Test func theLastFailuresOfAllAreKeptInTheirOrder() throws {
    for number in 0..<100 {
      errors.append(
        ErrorRing.Record(
          time: Timestamp(seconds: number),
          operation: "read",
          path: "\(number)",
          error: FileError(.stale, "a reason")
        )
      )
    }
    #expect(errors.all.map(\.path) == (36..<100).map { "\($0)" })
  }

  @Test func theLineInTheLogSaysWhatWhyWhichKeyAndTheRequest() throws {
    let reporter = try reporter()
    defer { unlink(path) }
    let cause = StoreError(
      .accessDenied,
      .getObject,
      key: ObjectKey("d/f"),
      status: 403,
      code: "AccessDenied",
      requestID: "R1",
      message: "no"
    )
    let operation = FailureReporter.Operation(name: "read", path: "d/f")
    reporter.report(FileError(.accessDenied, "\(cause)", cause: cause), operation)
    let line = try #require(try lines().first)
    let words = [
      "GetObject \"d/f\": no (AccessDenied, HTTP 403, request id R1)", " operation=read ",
      " path=d/f ", " errno=EACCES ", " code=AccessDenied ", " request_id=R1",
    ]
    for word in words { #expect(line.contains(word), "\(line)") }
  }

  @Test func aKeyIsToldOfOnceAndAThousandAtMost() throws {
    let reporter = try reporter()
    defer { unlink(path) }
    for _ in 0..<3 { reporter.noteOnce(.info, about: ObjectKey("a")) { "about a" } }
    #expect(try lines().count == 1)
    for number in 0..<2000 { reporter.noteOnce(.info, about: ObjectKey("\(number)")) { "more" } }
    #expect(try lines().count == 1000)
  }
}
