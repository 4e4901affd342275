import Core
import Daemon
import Glibc
import Simulation
import Support
import Testing

/// A status to answer with.
func sampleStatus(mountpoint: String) -> MountStatus {
  MountStatus(
    mountpoint: mountpoint,
    bucket: "s3://data/prefix",
    processID: 4242,
    since: Timestamp(seconds: 1_796_027_400),
    isReadOnly: true,
    cache: MountStatus.Cache(directory: "/c", bytes: 123, limitBytes: 456),
    memory: MountStatus.Memory(residentBytes: 1, budgetBytes: 2),
    counters: MountStatus.Counters(Metrics().snapshot)
  )
}

@Suite
struct ControlSocketTests {
  private let home: TestDirectory
  private let directory: RuntimeDirectory
  private let client: ControlClient

  init() throws {
    home = try TestDirectory()
    directory = RuntimeDirectory(path: home.path + "/run")
    client = ControlClient(directories: [directory])
  }

  private func server(
    at mountpoint: String,
    _ handler: @escaping ControlServer.Handler
  ) throws -> ControlServer {
    let server = try ControlServer(
      mountpoint: mountpoint,
      directories: [directory],
      log: Log(level: .error),
      handler: handler
    )
    try server.start()
    return server
  }

  @Test
  func aQuestionIsAnsweredByTheRightDaemon() throws {
    let servers = try ["/mnt/a", "/mnt/b"].map { mountpoint in
      try server(at: mountpoint) { _, answer in
        answer(ControlAnswer(status: sampleStatus(mountpoint: mountpoint)))
      }
    }
    defer { for server in servers { server.stop() } }
    let outcome = client.ask(ControlRequest(.status), at: "/mnt/b")
    #expect(outcome == .answered(ControlAnswer(status: sampleStatus(mountpoint: "/mnt/b"))))
    #expect(client.statuses(MountTable([])).map(\.mountpoint) == ["/mnt/a", "/mnt/b"])
  }

  @Test
  func progressArrivesBeforeTheEnd() throws {
    let server = try server(at: "/m") { request, answer in
      #expect(request.command == .unmount)
      answer(ControlAnswer(waiting: "2 files"))
      answer(ControlAnswer(waiting: "1 file"))
      answer(ControlAnswer(isDone: true))
    }
    defer { server.stop() }
    var seen: [String] = []
    let outcome = client.ask(ControlRequest(.unmount), at: "/m") { seen.append($0) }
    #expect(outcome == .answered(ControlAnswer(isDone: true)))
    #expect(seen == ["2 files", "1 file"])
  }

  @Test
  func theSocketOfADeadDaemonIsRemoved() throws {
    try directory.prepare()
    let path = directory.socketPath(for: "/m")
    do { _ = try LocalSocket.listen(at: path) }
    #expect(access(path, F_OK) == 0)
    #expect(client.ask(ControlRequest(.status), at: "/m") == .absent)
    #expect(access(path, F_OK) != 0)
  }

  @Test
  func aDaemonTakesTheSocketOfADeadOneOver() throws {
    try directory.prepare()
    do { _ = try LocalSocket.listen(at: directory.socketPath(for: "/m")) }
    let server = try server(at: "/m") { _, answer in answer(ControlAnswer(isDone: true)) }
    defer { server.stop() }
    #expect(
      client.ask(ControlRequest(.unmount), at: "/m") == .answered(ControlAnswer(isDone: true))
    )
  }

  @Test
  func aDaemonThatDoesNotAnswerIsSilentAndNotWaitedFor() throws {
    try directory.prepare()
    let listener = try LocalSocket.listen(at: directory.socketPath(for: "/m"))
    let outcome = client.ask(ControlRequest(.status), at: "/m", patience: .milliseconds(100))
    #expect(outcome == .silent(processID: getpid()))
    withExtendedLifetime(listener) {}
  }

  @Test
  func aMountThatNobodyAnswersForIsListed() {
    let line = "23 22 0:21 / /mnt/x rw - fuse.dipper s3://x rw,user_id=\(geteuid()),group_id=0\n"
    let statuses = client.statuses(MountTable(Array(line.utf8)))
    #expect(statuses.map(\.mountpoint) == ["/mnt/x"])
    #expect(statuses.first?.answers == false)
    let fields = ["pid", "since", "read_only", "cache", "memory", "transfers", "counters"]
    let text = StatusReport.text(of: StatusReport(mounts: statuses))
    for field in fields + ["unsaved", "errors"] { #expect(text.contains(#""\#(field)":null"#)) }
    #expect(text.contains(#""state":"not answering""#))
    #expect(StatusText.text(StatusReport(mounts: statuses)).contains("no daemon answers"))
  }

  @Test
  func silentDaemonsAreAskedAtOnce() throws {
    try directory.prepare()
    let mountpoints = (0..<8).map { "/mnt/\($0)" }
    let listeners = try mountpoints.map {
      try LocalSocket.listen(at: directory.socketPath(for: $0))
    }
    let lines = mountpoints.map {
      "23 22 0:21 / \($0) rw - fuse.dipper s3://x rw,user_id=\(geteuid()),group_id=0\n"
    }
    let start = SystemClock().now
    let statuses = client.statuses(
      MountTable(Array(lines.joined().utf8)),
      patience: .seconds(1)
    )
    // One after the other they would take eight seconds.
    #expect(SystemClock().now - start < .seconds(6))
    #expect(statuses.map(\.mountpoint) == mountpoints)
    #expect(statuses.allSatisfy { !$0.answers && $0.pid == getpid() })
    withExtendedLifetime(listeners) {}
  }

  @Test
  func aMountThatLeftTheTreeIsDetached() throws {
    let server = try server(at: "/m") { _, answer in
      answer(ControlAnswer(status: sampleStatus(mountpoint: "/m")))
    }
    defer { server.stop() }
    func state(_ type: String) -> MountStatus.State? {
      let line = "23 22 0:21 / /m rw - \(type) x rw,user_id=7777,group_id=0\n"
      return client.statuses(MountTable(Array(line.utf8))).first?.state
    }
    #expect(state("fuse.dipper") == .serving)
    #expect(state("tmpfs") == .detached)
  }

  @Test
  func garbageGetsAnAnswerAndDoesNoHarm() throws {
    let server = try server(at: "/m") { _, answer in answer(ControlAnswer(isDone: true)) }
    defer { server.stop() }
    let socket = try LocalSocket.connect(
      to: directory.socketPath(for: "/m"),
      timeout: .seconds(60)
    )
    try socket.write(Array("{\"command\":\"explode\"}\n".utf8))
    var reader = LineReader(socket, lengthMax: 1000)
    let answer = try reader.next().map { String(decoding: $0, as: UTF8.self) }
    #expect(answer == #"{"error":"this daemon doesn't know that request"}"#)
    #expect(
      client.ask(ControlRequest(.unmount), at: "/m") == .answered(ControlAnswer(isDone: true))
    )
  }

  @Test
  func aDaemonThatEndsLeavesTheSocketOfItsSuccessor() throws {
    let old = try server(at: "/m") { _, _ in }
    let new = try server(at: "/m") { _, answer in answer(ControlAnswer(isDone: true)) }
    defer { new.stop() }
    old.stop()
    #expect(
      client.ask(ControlRequest(.unmount), at: "/m") == .answered(ControlAnswer(isDone: true))
    )
  }

  @Test
  func theSocketIsGoneAfterTheEnd() throws {
    let server = try server(at: "/m") { _, _ in }
    server.stop()
    #expect(access(directory.socketPath(for: "/m"), F_OK) != 0)
  }
}

@Suite
struct RuntimeDirectoryTests {
  @Test
  func aLinkOrAnOpenDirectoryIsRefused() throws {
    let home = try TestDirectory()
    mkdir(home.path + "/real", 0o700)
    symlink("real", home.path + "/link")
    mkdir(home.path + "/open", 0o700)
    chmod(home.path + "/open", 0o777)
    #expect(throws: DiskFailure.self) { try RuntimeDirectory(path: home.path + "/link").prepare() }
    #expect(throws: DiskFailure.self) { try RuntimeDirectory(path: home.path + "/open").prepare() }
    #expect(throws: DiskFailure.self) { try RuntimeDirectory(path: home.path + "/a/b").prepare() }
    #expect(throws: Never.self) { try RuntimeDirectory(path: home.path + "/new").prepare() }
  }

  @Test(.enabled(if: geteuid() == 0, "only root can give a directory away"))
  func aDirectoryOfAnotherUserIsRefused() throws {
    let home = try TestDirectory()
    let directory = RuntimeDirectory(path: home.path + "/theirs")
    try directory.prepare()
    #expect(lchown(directory.path, 1, 1) == 0)
    #expect(throws: DiskFailure.self) { try directory.prepare() }
    #expect(directory.socketPaths.isEmpty)
  }

  @Test
  func rootHasOnePlaceWhateverItsEnvironment() {
    let places = RuntimeDirectory.candidates(user: 0, variable: "/run/user/0").map(\.path)
    #expect(places == ["/run/dipper", "/tmp/dipper-0"])
  }

  @Test
  func usersHaveTheirs() {
    let places = RuntimeDirectory.candidates(user: 7, variable: "/run/user/7").map(\.path)
    #expect(places == ["/run/user/7/dipper", "/tmp/dipper-7"])
    let relative = RuntimeDirectory.candidates(user: 7, variable: "run").map(\.path)
    #expect(relative == ["/run/user/7/dipper", "/tmp/dipper-7"])
  }

  @Test
  func rootReadsThoseOfAllWhoHaveAMount() {
    func line(_ mountpoint: String, _ type: String, user: Int) -> String {
      "23 22 0:21 / \(mountpoint) rw - \(type) x rw,user_id=\(user),group_id=0\n"
    }
    let lines = [
      line("/m", "fuse.dipper", user: 7), line("/n", "fuse.dipper", user: 7),
      line("/o", "fuse.dipper", user: 0), line("/p", "fuse.dipper", user: 8),
      // What lies in it may never be answered.
      line("/run/user/8", "fuse.sshfs", user: 8), line("/q", "fuse.sshfs", user: 9),
    ]
    let table = MountTable(Array(lines.joined().utf8))
    let own = RuntimeDirectory(path: "/own", owner: 0)
    let read = RuntimeDirectory.readable(table, user: 0, own: [own])
    #expect(read.map(\.path) == ["/own", "/run/user/7/dipper", "/tmp/dipper-7", "/tmp/dipper-8"])
    #expect(read.map(\.owner) == [0, 7, 7, 8])
    #expect(RuntimeDirectory.readable(table, user: 7, own: [own]) == [own])
  }

  @Test(.enabled(if: geteuid() == 0))
  func whoListensInAnothersDirectoryIsToldNothing() throws {
    let home = try TestDirectory()
    let directory = RuntimeDirectory(path: home.path + "/run", owner: 7777)
    mkdir(directory.path, 0o700)
    #expect(throws: DiskFailure.self, "it is not theirs") { try directory.check() }
    chown(directory.path, 7777, 7777)
    let requestCount = Lock(0)
    let server = try ControlServer(
      mountpoint: "/m",
      directories: [directory],
      log: Log(level: .error)
    ) { _, answer in
      requestCount.withLock { $0 += 1 }
      answer(ControlAnswer(status: sampleStatus(mountpoint: "/m")))
    }
    try server.start()
    let line = "23 22 0:21 / /m rw - fuse.dipper x rw,user_id=7777,group_id=0\n"
    let client = ControlClient(directories: [directory])
    #expect(client.ask(ControlRequest(.status), at: "/m") == .absent)
    let statuses = client.statuses(MountTable(Array(line.utf8)))
    #expect(statuses.map(\.answers) == [false] && statuses.map(\.user) == [7777])
    server.stop()
    #expect(requestCount.withLock { $0 } == 0)
    // What nobody listens at stays: the path may lead elsewhere by now.
    do { _ = try LocalSocket.listen(at: directory.socketPath(for: "/m")) }
    #expect(client.ask(ControlRequest(.status), at: "/m") == .absent)
    #expect(access(directory.socketPath(for: "/m"), F_OK) == 0)
  }

  @Test
  func everySocketsPathFits() {
    let path = RuntimeDirectory(path: "/run/user/4294967294/dipper")
      .socketPath(for: String(repeating: "/long", count: 800))
    #expect(path.utf8.count < 80)
  }
}
