internal import Core
package import Support

/// Starts this program again as a daemon and waits until it says that its mount answers.
///
/// `fork` alone would leave the child without the runtime's threads, so the program is started anew,
/// in a session of its own, with the same arguments and environment: what the user typed is all that
/// `ps` shows.
package enum BackgroundStart {
  /// How it went.
  package struct Outcome: Hashable, Sendable {
    /// The exit code for the user.
    package var code: Int32
    /// One sentence, unless it went well.
    package var message: String?
  }

  /// Starts the daemon; `note` is called with what it wants a person to know.
  ///
  /// - Parameters:
  ///   - arguments: this program's own, its name first.
  ///   - program: the program; another one only in tests.
  ///   - logFile: the daemon's log, whose end is shown if it dies without a word.
  ///   - onChild: told about the process, so that a signal to the starter can be passed on.
  ///   - note: told what a person should know.
  /// - Returns: the outcome; the daemon has ended unless it is a success.
  package static func run(
    arguments: [[UInt8]],
    program: String = "/proc/self/exe",
    logFile: String? = nil,
    onChild: (Subprocess) -> Void,
    note: (String) -> Void
  ) -> Outcome {
    // What is in the log before is of earlier mounts.
    let logSize = logFile.flatMap { try? Disk.status(of: $0)?.size } ?? 0
    do throws(DiskFailure) {
      let (child, pipe) = try spawn(program, arguments)
      onChild(child)
      return try follow(child, pipe, note: note) {
        logFile.map { lastLines(of: $0, behind: logSize) } ?? []
      }
    } catch {
      return Outcome(code: 1, message: "the daemon could not be started: \(error)")
    }
  }

  /// The write end must not stay open here, or its end would never be seen.
  private static func spawn(
    _ program: String,
    _ arguments: [[UInt8]]
  ) throws(DiskFailure) -> (Subprocess, FileDescriptor) {
    let pipe = try Pipe()
    let null = try FileDescriptor.open("/dev/null", .readWrite)
    let child = try Subprocess.start(
      program,
      arguments: arguments,
      extraEnvironment: ["\(StartReport.variable)=3"],
      descriptors: [null, null, pipe.writeEnd, pipe.writeEnd],
      startsSession: true
    )
    return (child, pipe.readEnd)
  }

  private static func follow(
    _ child: Subprocess,
    _ pipe: FileDescriptor,
    note: (String) -> Void,
    lastLogged: () -> [String]
  ) throws(DiskFailure) -> Outcome {
    var reader = LineReader(pipe, lengthMax: 65_536)
    var noise: [String] = []
    while let line = try reader.next() {
      switch StartLine(String(decoding: line, as: UTF8.self)) {
      case .ready(let mountpoint):
        return look(at: mountpoint)
      case .failed(let code, let message):
        _ = child.wait()
        return Outcome(code: code == 0 ? 1 : code, message: message)
      case .note(let message):
        note(message)
      case .noise(let text):
        noise.append(text)
        if noise.count > 5 { noise.removeFirst() }
      }
    }
    let last = noise.isEmpty ? lastLogged() : noise
    return Outcome(code: 1, message: sentence(child.wait(), last))
  }

  /// Sees for itself that the mount answers.
  private static func look(at path: String) -> Outcome {
    let facts = try? Mountpoint(path).facts(patience: .seconds(20))
    if case .failed(let reason) = facts?.kind {
      return Outcome(code: 1, message: "\(path) was mounted but can't be looked at: \(reason)")
    }
    guard facts?.kind == .directory else {
      return Outcome(
        code: 1,
        message: "\(path) was mounted but does not answer; 'dipper unmount' clears it"
      )
    }
    return Outcome(code: 0, message: nil)
  }

  /// What there is to say of a daemon that ended before its mount answered.
  private static func sentence(_ ending: Subprocess.Ending, _ last: [String]) -> String {
    let how =
      switch ending {
      case .exited(let code): "ended with code \(code)"
      case .killed(let signal): "was killed by signal \(signal)"
      }
    let said = last.map { $0.utf8.printable }.joined(separator: " / ")
    return "the daemon \(how) before the mount answered"
      + (said.isEmpty ? "" : "; the last it said: \(said)")
  }

  /// The last lines behind `offset`, or of all there is if the file has become shorter than that.
  private static func lastLines(of path: String, behind offset: Int) -> [String] {
    guard let file = try? FileDescriptor.open(path, .read), let size = try? file.size() else {
      return []
    }
    let start = max(offset <= size ? offset : 0, size - 65_536)
    guard let bytes = try? file.bytes(ByteRange(start, size)) else { return [] }
    return bytes.split(separator: 0x0A).suffix(3).map { String(decoding: $0, as: UTF8.self) }
  }
}
