/// What the facts of this machine mean for whoever wants to mount here.
package enum MachineJudgement {
  /// Returns a check for each thing.
  package static func checks(_ facts: MachineFacts) -> [DoctorReport.Check] {
    [
      device(facts), helper(facts), kernel(facts), passthrough(facts),
      DoctorReport.Check("libraries", .ok, facts.libraries.joined(separator: ", ")),
      openFiles(facts), systemLog(facts), cacheDirectory(facts.cache), cacheDisk(facts.cache),
      mounts(facts),
    ]
  }

  private static func device(_ facts: MachineFacts) -> DoctorReport.Check {
    guard let problem = facts.deviceProblem else {
      return DoctorReport.Check("FUSE device", .ok, "/dev/fuse can be used")
    }
    return DoctorReport.Check(
      "FUSE device",
      .failed,
      problem,
      advice: "run 'modprobe fuse' as root; a container needs --device /dev/fuse"
    )
  }

  private static func helper(_ facts: MachineFacts) -> DoctorReport.Check {
    let name = "fusermount3"
    switch (facts.helper, facts.isRoot) {
    case (let helper?, true):
      return DoctorReport.Check(name, .ok, "\(helper.path); root mounts without it")
    case (nil, true):
      return DoctorReport.Check(name, .ok, "not installed; root mounts without it")
    case (nil, false):
      return DoctorReport.Check(
        name,
        .failed,
        "not in PATH, and only root can mount without it",
        advice: "install the package fuse3"
      )
    case (let helper?, false):
      guard helper.isSetUserID else {
        return DoctorReport.Check(
          name,
          .failed,
          "\(helper.path) doesn't run with root's rights",
          advice: "run 'chmod u+s \(helper.path)' as root, or install the package fuse3 again"
        )
      }
      return DoctorReport.Check(name, .ok, helper.path)
    }
  }

  private static func kernel(_ facts: MachineFacts) -> DoctorReport.Check {
    // What 4.20 brought to FUSE is used (whole directories kept by the kernel); older ones are untried.
    guard let version = numbers(facts.kernel), !isBefore(version, (4, 20)) else {
      return DoctorReport.Check(
        "kernel",
        .warning,
        "\(facts.kernel) is older than what dipper is tried with",
        advice: "use Linux 4.20 or later"
      )
    }
    return DoctorReport.Check("kernel", .ok, "Linux \(facts.kernel)")
  }

  private static func passthrough(_ facts: MachineFacts) -> DoctorReport.Check {
    let name = "passthrough"
    var reasons: [String] = []
    // Source: Linux 6.9, fs/fuse/passthrough.c.
    if numbers(facts.kernel).map({ isBefore($0, (6, 9)) }) ?? true {
      reasons.append("it takes Linux 6.9")
    }
    if !facts.isRoot { reasons.append("it takes root") }
    if facts.cache.fileSystem == "overlay" {
      reasons.append("the cache must not lie on an overlay")
    }
    guard !reasons.isEmpty else {
      return DoctorReport.Check(name, .ok, "the kernel can read cached files by itself")
    }
    // Nothing that has to be done: reads are as right without.
    return DoctorReport.Check(name, .ok, "not possible here: " + reasons.joined(separator: ", "))
  }

  private static func openFiles(_ facts: MachineFacts) -> DoctorReport.Check {
    let name = "open files"
    guard let limit = facts.openFileCountMax else {
      return DoctorReport.Check(name, .ok, "the limit isn't known")
    }
    let advice = "raise the hard limit, with 'ulimit -Hn 65536' or LimitNOFILE= of a service"
    if limit < MountPreparation.openFileCountMin {
      return DoctorReport.Check(
        name,
        .failed,
        "a process may open only \(limit), and a mount needs \(MountPreparation.openFileCountMin)",
        advice: advice
      )
    }
    // Two for each object that is read at a time.
    return limit < 1024
      ? DoctorReport.Check(name, .warning, "a process may open only \(limit)", advice: advice)
      : DoctorReport.Check(name, .ok, "a process may open \(limit)")
  }

  private static func systemLog(_ facts: MachineFacts) -> DoctorReport.Check {
    // Nothing that has to be done: a container has none, and lines are kept all the same.
    DoctorReport.Check(
      "log",
      .ok,
      facts.hasSystemLog
        ? "a mount writes to the system's log"
        : "no system log here: a mount writes to a file that 'dipper status' names, or to --log-file"
    )
  }

  private static func cacheDirectory(_ cache: MachineFacts.Cache) -> DoctorReport.Check {
    let name = "cache directory"
    let elsewhere = "give another one with --cache-dir"
    func failed(_ message: String, _ advice: String) -> DoctorReport.Check {
      DoctorReport.Check(name, .failed, "\(cache.path) \(message)", advice: advice)
    }
    switch cache.problem {
    case nil: break
    case .noDirectory:
      return failed("is not a directory, or is a link", "move it away, or \(elsewhere)")
    case .foreign(let owner):
      return failed("belongs to the user with the id \(owner)", elsewhere)
    case .open:
      return failed("can be written by other users", "run 'chmod 700 \(cache.path)'")
    case .unwritable:
      return failed(
        cache.exists ? "can't be written" : "is not there and can't be made",
        elsewhere
      )
    case .failed(let reason):
      return failed("can't be looked at: \(reason)", elsewhere)
    }
    guard cache.exists else {
      return DoctorReport.Check(name, .ok, "\(cache.path) is made by the first mount")
    }
    let mode = String(cache.permissions, radix: 8)
    return DoctorReport.Check(name, .ok, "\(cache.path), yours, mode \(mode)")
  }

  private static func cacheDisk(_ cache: MachineFacts.Cache) -> DoctorReport.Check {
    let name = "cache disk"
    guard let free = cache.freeByteCount else {
      return DoctorReport.Check(name, .warning, "its free space isn't known")
    }
    let facts = "\(ByteSize.describe(free)) free" + (cache.fileSystem.map { " on \($0)" } ?? "")
    if cache.fileSystem == "tmpfs" || cache.fileSystem == "ramfs" {
      return DoctorReport.Check(
        name,
        .warning,
        "\(facts), which is memory and lost at a restart",
        advice: "give a directory on a disk with --cache-dir"
      )
    }
    if let kind = cache.fileSystem,
      kind.hasPrefix("nfs") || kind == "cifs" || kind.hasPrefix("fuse")
    {
      return DoctorReport.Check(
        name,
        .warning,
        "\(facts), which is slower than a disk of this machine and may not lock files",
        advice: "give a directory on a local disk with --cache-dir"
      )
    }
    // What the cache leaves free is at most 1 GiB.
    if free < 2 << 30 {
      return DoctorReport.Check(
        name,
        .warning,
        "only \(facts)",
        advice: "make room, or give a directory on another disk with --cache-dir"
      )
    }
    return DoctorReport.Check(name, .ok, facts)
  }

  private static func mounts(_ facts: MachineFacts) -> DoctorReport.Check {
    guard !facts.silentMounts.isEmpty else {
      let count = facts.answeringMountCount
      return DoctorReport.Check("mounts", .ok, count == 0 ? "none" : "\(count), all answer")
    }
    let list = facts.silentMounts.map { mount in
      mount.mountpoint
        + (mount.processID.map { " (pid \($0) is not answering)" } ?? " (its daemon is gone)")
    }
    let commands = facts.silentMounts.map { "'dipper unmount \($0.mountpoint)'" }
    return DoctorReport.Check(
      "mounts",
      .failed,
      list.joined(separator: ", "),
      advice: "clear with " + commands.joined(separator: ", ")
    )
  }

  /// The first two numbers of a release; nil if it has none.
  private static func numbers(_ release: String) -> (Int, Int)? {
    let parts = release.split(separator: ".").map { $0.prefix { $0.isASCII && $0.isNumber } }
    guard parts.count >= 2, let major = Int(parts[0]), let minor = Int(parts[1]) else { return nil }
    return (major, minor)
  }

  private static func isBefore(_ version: (Int, Int), _ other: (Int, Int)) -> Bool {
    version.0 != other.0 ? version.0 < other.0 : version.1 < other.1
  }
}
