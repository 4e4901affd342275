import Daemon
import Testing

@Suite
struct MachineJudgementTests {
  private var healthy: MachineFacts {
    var facts = MachineFacts(
      isRoot: true,
      kernel: "6.9.3-1-amd64",
      libraries: ["libfuse 3.14.0", "libcurl 7.88.1"],
      cache: MachineFacts.Cache(path: "/c")
    )
    facts.openFileCountMax = 65536
    facts.cache.freeByteCount = 100 << 30
    facts.cache.fileSystem = "ext4"
    return facts
  }

  private func check(
    _ name: String,
    _ change: (inout MachineFacts) -> Void
  ) throws -> DoctorReport.Check {
    var facts = healthy
    change(&facts)
    return try #require(MachineJudgement.checks(facts).first { $0.check == name })
  }

  @Test
  func aHealthyMachineIsOk() {
    let checks = MachineJudgement.checks(healthy)
    #expect(checks.allSatisfy { $0.verdict == .ok && $0.advice == nil })
    #expect(!DoctorReport(checks: checks).hasFailed)
  }

  @Test
  func withoutASystemLogItIsSaidWhereAMountWrites() throws {
    let found = try check("log") { $0.hasSystemLog = false }
    #expect(found.verdict == .ok && found.message.contains("'dipper status'"))
    #expect(try check("log") { _ in }.message == "a mount writes to the system's log")
  }

  @Test
  func whatKeepsAMountFromComingUpHasFailed() throws {
    let failures: [(String, (inout MachineFacts) -> Void)] = [
      ("FUSE device", { $0.deviceProblem = "/dev/fuse can't be opened" }),
      ("fusermount3", { $0.isRoot = false }),
      (
        "fusermount3",
        {
          $0.isRoot = false
          $0.helper = .init(path: "/bin/fusermount3", isSetUserID: false)
        }
      ),
      ("open files", { $0.openFileCountMax = 127 }),
      ("cache directory", { $0.cache.problem = .foreign(7) }),
      ("cache directory", { $0.cache.problem = .open }),
      ("cache directory", { $0.cache.problem = .noDirectory }),
      ("cache directory", { $0.cache.problem = .unwritable }),
      ("mounts", { $0.silentMounts = [.init(mountpoint: "/mnt/x", processID: nil)] }),
    ]
    for (name, change) in failures {
      let found = try check(name, change)
      #expect(found.verdict == .failed, "\(found)")
      #expect(found.advice?.isEmpty == false, "\(found)")
    }
  }

  @Test
  func whatIsOnlyWorseIsAWarning() throws {
    let warnings: [(String, (inout MachineFacts) -> Void)] = [
      ("open files", { $0.openFileCountMax = 1000 }),
      ("cache disk", { $0.cache.freeByteCount = 1 << 30 }),
      ("cache disk", { $0.cache.fileSystem = "tmpfs" }),
      ("cache disk", { $0.cache.fileSystem = "nfs4" }),
      ("kernel", { $0.kernel = "4.19.0" }),
      ("kernel", { $0.kernel = "strange" }),
    ]
    for (name, change) in warnings { #expect(try check(name, change).verdict == .warning) }
  }

  @Test
  func passthroughNamesWhatItTakes() throws {
    let found = try check("passthrough") {
      $0.kernel = "6.1.0-18-amd64"
      $0.isRoot = false
      $0.cache.fileSystem = "overlay"
    }
    #expect(found.verdict == .ok)
    for word in ["6.9", "root", "overlay"] { #expect(found.message.contains(word)) }
  }

  @Test
  func theTextLinesUpAndTheAdviceFollows() {
    let report = DoctorReport(checks: [
      DoctorReport.Check("clock", .ok, "fine"),
      DoctorReport.Check("FUSE device", .failed, "gone\u{1B}[2J", advice: "load it"),
    ])
    #expect(
      report.text == """
        ok       clock        fine
        failed   FUSE device  gone\\x1B[2J
                              -> load it

        """
    )
    #expect(report.hasFailed)
  }
}
