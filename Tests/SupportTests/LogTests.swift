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

@Suite struct RepetitionFilterTests {
  @Test func whatIsToldApartIsBounded() {
    var filter = RepetitionFilter(interval: .seconds(10))
    let now = Instant(nanoseconds: 0)
    for number in 0..<10_000 {
      #expect(filter.occurred("\(number)", at: now) == .tell(suppressedCount: 0))
    }
    #expect(filter.occurred("9999", at: now) == .suppress)
    let others = filter
    let knownCount = (0..<10_000).count { number in
      var filter = others
      return filter.occurred("\(number)", at: now) == .suppress
    }
    #expect(1...256 ~= knownCount)
  }

  @Test func theKindThatWasToldOfLongestAgoMakesRoom() {
    var filter = RepetitionFilter(interval: .seconds(10))
    func at(_ number: Int) -> Instant { Instant(nanoseconds: Int64(number)) }
    for number in 0..<256 { _ = filter.occurred("\(number)", at: at(number)) }
    for number in [0, 0, 1] { #expect(filter.occurred("\(number)", at: at(300)) == .suppress) }
    #expect(filter.occurred("new", at: at(301)) == .tell(suppressedCount: 0))
    for number in 1..<256 {
      #expect(filter.occurred("\(number)", at: at(302)) == .suppress, "\(number) was told later")
    }
    // What was kept back of it is told all the same, and it is news the next time.
    let rests = filter.takeEnded(at: at(303))
    #expect(rests.map(\.kind) == ["0"] && rests.map(\.count) == [2])
    #expect(filter.occurred("0", at: at(304)) == .tell(suppressedCount: 0))
    #expect(filter.takeAll().first { $0.kind == "1" }?.count == 2, "it made room in its turn")
  }

  @Test func oneIsToldPerIntervalToItsEnd() {
    var filter = RepetitionFilter(interval: .seconds(10))
    func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }
    #expect(filter.occurred("a", at: at(0)) == .tell(suppressedCount: 0))
    #expect(filter.occurred("a", at: at(9999)) == .suppress)
    #expect(filter.takeEnded(at: at(9999)) == [])
    #expect(filter.occurred("a", at: at(10_000)) == .tell(suppressedCount: 1))
    #expect(filter.occurred("a", at: at(10_001)) == .suppress)
    let ended = filter.takeEnded(at: at(20_000))
    #expect(ended.map(\.kind) == ["a"] && ended.map(\.count) == [1])
    #expect(filter.takeAll() == [])
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

  @Test func aDayOfOneDigitIsPaddedWithASpace() throws {
    let directory = try LogDirectory()
    let socket = try LocalSocket.receiveDatagrams(at: directory.path + "/socket")
    let clock = SetClock()
    // 2026-11-05T12:00:00Z: the 5th or the 6th, wherever this runs.
    clock.set(1_793_880_000)
    let log = Log(target: .system(SystemLog(path: directory.path + "/socket")), time: clock)
    log.write(.warning, "x")
    let line = line(from: socket)
    #expect(line.hasPrefix("<28>Nov  5 ") || line.hasPrefix("<28>Nov  6 "), "\(line)")
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
