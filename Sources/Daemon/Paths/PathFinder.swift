internal import Core
internal import Glibc
package import Support

/// Finds the mount of a path without waiting for a daemon that doesn't answer.
///
/// Each look at a path of a mount is answered by its daemon. One that is stopped would hold whoever
/// looks, so a thread looks, and while it waits the daemon is asked on its socket whether it is there.
package struct PathFinder: Sendable {
  private let client: ControlClient
  private let table: MountTable

  // What a daemon that works needs a hundredth of.
  private static let patience = Duration.seconds(2)

  /// Creates a finder.
  package init(client: ControlClient = ControlClient(), table: MountTable = .current()) {
    self.client = client
    self.table = table
  }

  /// What a path of a mount leads to.
  package struct Found: Hashable, Sendable {
    /// Where it is.
    package var place: MountedPath
    /// What is there.
    package var facts: PathLook.Facts
  }

  /// Why there is nothing to work on, in words that can follow "PATH can't be warmed: ".
  package struct Miss: Error, Hashable, Sendable {
    /// The reason.
    package var reason: String
  }

  private typealias Look = Result<(path: [UInt8], facts: PathLook.Facts), DiskFailure>

  /// Finds a path as it was given.
  package func find(_ given: [UInt8]) throws(Miss) -> Found {
    guard !given.isEmpty else { throw Miss(reason: "the path is empty") }
    let directory = Array((ProcessEnvironment.workingDirectory ?? "").utf8)
    let slash = UInt8(ascii: "/")
    let path = given.first == slash ? given : directory + [slash] + given
    // By its spelling; a link may lead into another.
    let entry = MountedPath.mount(of: path, in: table)
    let suspects =
      entry?.isDipper == true
      ? [entry?.mountpoint ?? ""]
      : table.entries.filter { $0.isDipper && $0.userID == geteuid() }.map(\.mountpoint)
    if entry?.isDipper == true { for mountpoint in suspects { try checkAnswers(mountpoint) } }
    let look = Monitor<Look?>(nil)
    let isLooking = Thread.start("dipper-look") {
      let outcome: Look
      do throws(DiskFailure) {
        let resolved = try PathLook.resolve(path)
        outcome = .success((resolved, try PathLook.facts(resolved)))
      } catch {
        outcome = .failure(error)
      }
      look.withLock { $0 = outcome }
    }
    guard isLooking else { throw Miss(reason: Thread.shortage) }
    let (resolved, facts) = try wait(for: look, suspects)
    guard let place = MountedPath(resolved, in: table) else {
      throw Miss(reason: "it is not in a mount of dipper")
    }
    return Found(place: place, facts: facts)
  }

  private func wait(
    for look: Monitor<Look?>,
    _ suspects: [String]
  ) throws(Miss) -> (path: [UInt8], facts: PathLook.Facts) {
    while true {
      let end = SystemClock().now + Self.patience
      let outcome = look.wait { outcome, deadline -> Look?? in
        if let outcome { return outcome }
        deadline = end.nanoseconds
        return SystemClock().now >= end ? .some(nil) : nil
      }
      switch outcome {
      case .success(let found): return found
      case .failure(let failure): throw Miss(reason: failure.reason)
      // It may take as long as the mount's deadline, if the store is slow.
      case nil: for mountpoint in suspects { try checkAnswers(mountpoint) }
      }
    }
  }

  /// Asks the daemon of a mount whether it is there.
  package func checkAnswers(_ mountpoint: String) throws(Miss) {
    let outcome = client.ask(ControlRequest(.status), at: mountpoint, patience: Self.patience)
    if let reason = Self.silence(outcome, at: mountpoint) { throw Miss(reason: reason) }
  }

  /// What to say of a daemon that gave no answer; nil if it gave one.
  package static func silence(_ outcome: ControlClient.Outcome, at mountpoint: String) -> String? {
    switch outcome {
    case .answered: nil
    case .silent(let processID):
      "the daemon of \(mountpoint.utf8.printable)"
        + (processID.map { " (pid \($0))" } ?? "") + " is not answering"
    case .absent:
      "no daemon of yours answers for \(mountpoint.utf8.printable); it is gone, or another user's"
    }
  }
}
