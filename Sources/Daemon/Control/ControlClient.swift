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
      let socket = Socket(path: directory.socketPath(for: mountpoint), owner: directory.owner)
      let outcome = Self.ask(request, at: socket, patience: patience, onAnswer: onAnswer)
      if outcome != .absent { return outcome }
    }
    return .absent
  }

  /// Where a daemon can be asked, and as whom it must run.
  private struct Socket: Hashable, Sendable {
    let path: String
    let owner: UInt32

    /// What tells it from those of the same user's other mounts.
    var name: String { path.split(separator: "/").last.map(String.init) ?? "" }
  }

  /// The status of the mounts of the directories' owners, by mountpoint: those with a socket, and those
  /// in `table` that nobody answers for.
  ///
  /// All are asked at once, so that any number of silent ones costs one `patience`. Another user's daemon
  /// is believed only about mounts of that user's that are in `table`.
  package func statuses(
    _ table: MountTable,
    patience: Duration = .seconds(2)
  ) -> [MountStatus] {
    var found: [String: MountStatus] = [:]
    var silent: [UInt32: [String: Int32]] = [:]
    let sockets = directories.flatMap { directory in
      directory.socketPaths.map { Socket(path: $0, owner: directory.owner) }
    }
    for (socket, outcome) in Self.askAll(sockets, patience) {
      switch outcome {
      case .answered(let answer):
        guard var status = answer.status else { break }
        let entry = table.top(at: status.mountpoint)
        let isThere = entry?.isDipper == true
        let isOwn = socket.owner == geteuid()
        guard isOwn || (isThere && entry?.userID == socket.owner) else { break }
        // Without /proc one can't know.
        status.state = isThere || table.entries.isEmpty ? .serving : .detached
        status.user = isThere ? entry?.userID : socket.owner
        found[status.mountpoint] = status
      case .silent(let processID):
        silent[socket.owner, default: [:]][socket.name] = processID
      case .absent:
        break
      }
    }
    let owners = Set(directories.map(\.owner))
    for entry in table.entries where entry.isDipper && found[entry.mountpoint] == nil {
      guard let user = entry.userID, owners.contains(user) else { continue }
      var status = MountStatus(
        silentAt: entry.mountpoint,
        bucket: entry.source,
        processID: silent[user]?[RuntimeDirectory.socketName(for: entry.mountpoint)]
      )
      status.user = user
      found[entry.mountpoint] = status
    }
    return found.values.sorted { $0.mountpoint < $1.mountpoint }
  }

  /// Asks the daemons at all these sockets for their status, each on a thread of its own.
  private static func askAll(_ sockets: [Socket], _ patience: Duration) -> [Socket: Outcome] {
    let outcomes = Monitor<[Socket: Outcome]>([:])
    for socket in sockets {
      let inquiry: @Sendable () -> Void = {
        let outcome = ask(ControlRequest(.status), at: socket, patience: patience) { _ in }
        outcomes.withLock { $0[socket] = outcome }
      }
      // Without another thread, this one asks, and a silent daemon is waited for.
      if !Thread.start("dipper-ask", inquiry) { inquiry() }
    }
    // A little longer than each of them waits, so that a silent one's process id is known. A thread
    // that takes longer is left behind and ends with the process.
    let end = SystemClock().now + patience + .milliseconds(500)
    return outcomes.wait { outcomes, deadline in
      deadline = end.nanoseconds
      return outcomes.count == sockets.count || SystemClock().now >= end ? outcomes : nil
    }
  }

  private static func ask(
    _ request: ControlRequest,
    at socket: Socket,
    patience: Duration,
    onAnswer: (ControlAnswer) -> Void
  ) -> Outcome {
    let connection: FileDescriptor
    do throws(DiskFailure) {
      connection = try LocalSocket.connect(to: socket.path, timeout: patience)
    } catch {
      // Nobody listens: what a dead daemon left behind. In a directory of somebody else's the path may
      // lead elsewhere by now, so there it stays.
      if error.errno == ECONNREFUSED, socket.owner == geteuid() { unlink(socket.path) }
      return error.errno == EAGAIN ? .silent(processID: nil) : .absent
    }
    // Who isn't the daemon of the directory's owner is told nothing.
    guard let peer = try? LocalSocket.peer(of: connection), peer.user == socket.owner else {
      return .absent
    }
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
    return .silent(processID: peer.process)
  }
}
