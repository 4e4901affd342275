import Core
import Glibc
import Support
import Testing

/// A directory of a test's own.
final class LogDirectory: Sendable {
  let path: String

  init() throws {
    path = "/tmp/dipper-log-\(getpid())-\(String(UInt64.random(in: .min ... .max), radix: 16))"
    try Disk.createDirectory(path)
  }

  func text(_ name: String) throws -> String {
    String(decoding: try SmallFile.read("\(path)/\(name)"), as: UTF8.self)
  }

  deinit { try? Disk.removeTree(path) }
}

/// A clock that a test sets.
private final class SetClock: TimeSource {
  private let seconds = Lock(0)

  var now: Instant { Instant(nanoseconds: Int64(seconds.withLock { $0 }) * 1_000_000_000) }
  var wallTime: Timestamp { Timestamp(seconds: seconds.withLock { $0 }) }

  func set(_ value: Int) { seconds.withLock { $0 = value } }
}

@Suite struct LogTests {
  private let directory: LogDirectory
  private let clock = SetClock()

  init() throws { directory = try LogDirectory() }

  private func lines() throws -> [String] {
    try directory.text("log").split(separator: "\n").map { line in
      line.split(separator: " ").dropFirst(2).joined(separator: " ")
    }
  }

  @Test func manyLinesOfOneKindAreOneAndACount() throws {
    let log = Log(target: .file(try LogFile(path: directory.path + "/log")), time: clock)
    for number in 0..<1000 { log.write(.warning, "the disk refuses bytes: file \(number)") }
    log.write(.warning, "something else")
    #expect(try lines() == ["the disk refuses bytes: file 0", "something else"])
    clock.set(11)
    log.write(.warning, "the disk refuses bytes: again")
    #expect(try lines().last == "the disk refuses bytes: again (and 999 more like it before)")
  }

  @Test func aCountIsToldAlsoIfNothingOfItsKindFollows() throws {
    let log = Log(target: .file(try LogFile(path: directory.path + "/log")), time: clock)
    for _ in 0..<3 { log.write(.error, "bad: x") }
    clock.set(20)
    log.write(.warning, "something else")
    #expect(try lines() == ["bad: x", "2 more of: bad", "something else"])
    for _ in 0..<5 { log.write(.error, "bad: y") }
    log.flush()
    #expect(try lines().last == "4 more of: bad")
  }

  @Test func whatIsNoWarningIsNeverHeldBackUnlessItsKindIsNamed() throws {
    let file = try LogFile(path: directory.path + "/log")
    let log = Log(level: .debug, target: .file(file), time: clock)
    for _ in 0..<3 { log.write(.info, "a request") }
    for _ in 0..<3 { log.write(.info, "a note", kind: "note") }
    #expect(try lines() == ["a request", "a request", "a request", "a note"])
  }

  @Test func aFileThatWasMovedAwayIsOpenedAnew() throws {
    let path = directory.path + "/log"
    let log = Log(level: .info, target: .file(try LogFile(path: path)), time: clock)
    log.write(.info, "one")
    try Disk.rename(path, to: path + ".1")
    log.write(.info, "two")
    log.reopen()
    log.write(.info, "three")
    #expect(try directory.text("log.1").split(separator: "\n").count == 2)
    #expect(try lines() == ["three"])
  }

  @Test func aFileThatCannotBeOpenedAnewGoesOn() throws {
    let below = directory.path + "/below"
    try Disk.createDirectory(below)
    let log = Log(target: .file(try LogFile(path: below + "/log")), time: clock)
    try Disk.rename(below, to: directory.path + "/moved")
    log.reopen()
    #expect(try directory.text("moved/log").contains("the log file can't be opened anew"))
  }

  @Test func aFileIsMadeWhenThereIsSomethingToWrite() throws {
    let path = directory.path + "/log"
    let log = Log(target: .file(LogFile(madeWhenNeededAt: path)), time: clock)
    log.write(.info, "too quiet")
    log.reopen()
    #expect(try Disk.status(of: path) == nil)
    log.write(.warning, "loud")
    #expect(try lines() == ["loud"])
  }
}

@Suite struct SystemLogTests {
  private func line(from socket: FileDescriptor) -> String {
    LocalSocket.setTimeout(.seconds(10), of: socket)
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = read(socket.number, &bytes, bytes.count)
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
  }

  @Test func linesReachWhoeverListensAlsoAfterItWasStartedAnew() throws {
    let directory = try LogDirectory()
    let path = directory.path + "/socket"
    let system = SystemLog(path: path)
    #expect(!system.connect())
    var socket = try LocalSocket.receiveDatagrams(at: path)
    #expect(system.connect())
    let log = Log(target: .system(system))
    log.write(.warning, "the store is slow", ["key": "a b"])
    let first = line(from: socket)
    // 3 is "system daemons", 4 "warning": 3 * 8 + 4.
    let expected =
      #/<28>[A-Z][a-z]{2} [ 0-9]\d \d\d:\d\d:\d\d dipper\[\d+\]: the store is slow key="a b"/#
    #expect(try expected.wholeMatch(in: first) != nil, "\(first)")
    try Disk.removeFile(path)
    socket = try LocalSocket.receiveDatagrams(at: path)
    log.write(.error, "and gone")
    let second = line(from: socket)
    #expect(second.hasPrefix("<27>") && second.hasSuffix(": and gone"), "\(second)")
  }
}

@Suite struct ProcessEnvironmentTests {
  @Test func whereThereIsNoHomeItIsTheOneOnRecord() {
    #expect(ProcessEnvironment.withHome(["A": "b"], "/root") == ["A": "b", "HOME": "/root"])
    #expect(ProcessEnvironment.withHome(["HOME": ""], "/root") == ["HOME": "/root"])
    #expect(ProcessEnvironment.withHome(["HOME": "/x"], "/root") == ["HOME": "/x"])
    #expect(ProcessEnvironment.withHome(["A": "b"], nil) == ["A": "b"])
  }

  @Test func absolutePathsHaveNoDotsInThem() {
    #expect(ProcessEnvironment.absolute("/a/./b//c") == "/a/b/c")
    #expect(ProcessEnvironment.absolute("/a/../b/") == "/a/../b/")
    #expect(ProcessEnvironment.absolute("/.") == "/")
    let here = ProcessEnvironment.workingDirectory ?? ""
    #expect(ProcessEnvironment.absolute("./x") == (here == "/" ? "/x" : here + "/x"))
  }
}
