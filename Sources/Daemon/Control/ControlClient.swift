internal import Core
internal import Glibc
package import Support

/// The asking end of the control sockets.
package struct ControlClient: Sendable {
  private let directories: [RuntimeDirectory]

  /// Creates a client that looks in `directories`.
  package init(directories: [RuntimeDirectory] = RuntimeDirectory.ofThisUser) {
    self.directories = directories
  }

  /// How a question ended.
  package enum Outcome: Hashable, Sendable {
    /// There is no daemon.
    case absent
    /// There is one, but it doesn't answer; its process id, where the kernel says.
    case silent(processID: Int32?)
    /// It answered; this is the last line.
    case answered(ControlAnswer)
  }

  /// Asks the daemon at `mountpoint`.
  ///
  /// - Parameters:
  ///   - request: what to ask.
  ///   - mountpoint: where it is mounted, as the kernel spells it.
  ///   - patience: how long each line may take.
  ///   - onProgress: told what the daemon waits for.
  /// - Returns: how it ended.
  package func ask(
    _ request: ControlRequest,
    at mountpoint: String,
    patience: Duration = .seconds(2),
    onProgress: (String) -> Void = { _ in }
  ) -> Outcome {
    follow(request, at: mountpoint, patience: patience) { answer in
      if let waiting = answer.waiting { onProgress(waiting) }
    }
  }

  /// Asks the daemon at `mountpoint` for something that takes its time.
  ///
  /// - Parameters:
  ///   - request: what to ask.
  ///   - mountpoint: where it is mounted, as the kernel spells it.
  ///   - patience: how long each line may take.
  ///   - onAnswer: is given each answer that is not the last.
  /// - Returns: how it ended.
  package func follow(
    _ request: ControlRequest,
    at mountpoint: String,
    patience: Duration,
    onAnswer: (ControlAnswer) -> Void
  ) -> Outcome {
    for directory in directories where (try? directory.check()) != nil {
      let path = directory.socketPath(for: mountpoint)
      let outcome = Self.ask(request, socket: path, patience: patience, onAnswer: onAnswer)
      if outcome != .absent { return outcome }
    }
    return .absent
  }

  /// The status of this user's mounts, by mountpoint: those with a socket, and those in `table` that
  /// nobody answers for.
  ///
  /// All are asked at once, so that any number of silent ones costs one `patience`.
  package func statuses(
    _ table: MountTable,
    patience: Duration = .seconds(2)
  ) -> [MountStatus] {
    var found: [String: MountStatus] = [:]
    var silent: [String: Int32] = [:]
    for (path, outcome) in Self.askAll(directories.flatMap(\.socketPaths), patience) {
      switch outcome {
      case .answered(let answer):
        if let status = answer.status { found[status.mountpoint] = status }
      case .silent(let processID):
        silent[path.split(separator: "/").last.map(String.init) ?? ""] = processID
      case .absent:
        break
      }
    }
    for mountpoint in found.keys {
      // Without /proc one can't know.
      let isThere = table.entries.isEmpty || table.top(at: mountpoint)?.isDipper == true
      found[mountpoint]?.state = isThere ? .serving : .detached
    }
    for entry in table.entries
    where entry.isDipper && entry.userID == geteuid() && found[entry.mountpoint] == nil {
      found[entry.mountpoint] = MountStatus(
        silentAt: entry.mountpoint,
        bucket: entry.source,
        processID: silent[RuntimeDirectory.socketName(for: entry.mountpoint)]
      )
    }
    return found.values.sorted { $0.mountpoint < $1.mountpoint }
  }

  /// Asks the daemons at all these sockets for their status, each on a thread of its own.
  private static func askAll(_ paths: [String], _ patience: Duration) -> [String: Outcome] {
    let outcomes = Monitor<[String: Outcome]>([:])
    for path in paths {
      let inquiry: @Sendable () -> Void = {
        let outcome = ask(ControlRequest(.status), socket: path, patience: patience) { _ in }
        outcomes.withLock { $0[path] = outcome }
      }
      // Without another thread, this one asks, and a silent daemon is waited for.
      if !Thread.start("dipper-ask", inquiry) { inquiry() }
    }
    // A little longer than each of them waits, so that a silent one's process id is known. A thread
    // that takes longer is left behind and ends with the process.
    let end = SystemClock().now + patience + .milliseconds(500)
    return outcomes.wait { outcomes, deadline in
      deadline = end.nanoseconds
      return outcomes.count == paths.count || SystemClock().now >= end ? outcomes : nil
    }
  }

  private static func ask(
    _ request: ControlRequest,
    socket path: String,
    patience: Duration,
    onAnswer: (ControlAnswer) -> Void
  ) -> Outcome {
    let connection: FileDescriptor
    do throws(DiskFailure) {
      connection = try LocalSocket.connect(to: path, timeout: patience)
    } catch {
      // Nobody listens: what a dead daemon left behind.
      if error.errno == ECONNREFUSED { unlink(path) }
      return error.errno == EAGAIN ? .silent(processID: nil) : .absent
    }
    let processID = (try? LocalSocket.peer(of: connection))?.process
    do throws(DiskFailure) {
      try connection.write(ControlLine.encode(request))
      var reader = LineReader(connection, lengthMax: ControlLine.lengthMax)
      while let line = try reader.next() {
        guard let answer = ControlLine.decode(line, as: ControlAnswer.self) else { break }
        guard !answer.isLast else { return .answered(answer) }
        onAnswer(answer)
      }
    } catch {
      // As good as no answer.
    }
    return .silent(processID: processID)
  }
}
