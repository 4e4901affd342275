internal import Glibc

/// Takes signals on a thread of its own, where anything may be done; nothing runs in a handler.
package enum SignalWatch {
  /// The signals that may be taken.
  package enum Signal: Hashable, Sendable, CaseIterable {
    /// Ctrl-C.
    case interrupt
    /// A polite request to end.
    case terminate
    /// The terminal is gone, or "read your configuration again".
    case hangUp
    /// Ctrl-\\.
    case quit
    /// Means what a program says it means.
    case user1
    /// Means what a program says it means.
    case user2
    /// A clock ran down.
    case alarm

    /// Its number.
    package var number: Int32 {
      switch self {
      case .interrupt: SIGINT
      case .terminate: SIGTERM
      case .hangUp: SIGHUP
      case .quit: SIGQUIT
      case .user1: SIGUSR1
      case .user2: SIGUSR2
      case .alarm: SIGALRM
      }
    }
  }

  /// Calls `handler` with each signal of `signals` from now on, one after the other.
  ///
  /// Call it on the main thread before another is started: threads inherit what is blocked. Also
  /// makes writing to a closed pipe an error instead of a signal.
  package static func start(
    _ signals: Set<Signal>,
    _ handler: @escaping @Sendable (Signal) -> Void
  ) {
    signal(SIGPIPE, SIG_IGN)
    var set = sigset_t()
    sigemptyset(&set)
    for signal in signals { sigaddset(&set, signal.number) }
    pthread_sigmask(SIG_BLOCK, &set, nil)
    let blocked = set
    Thread.start("dipper-signals") {
      var waited = blocked
      while true {
        var number: Int32 = 0
        guard sigwait(&waited, &number) == 0 else { continue }
        if let signal = signals.first(where: { $0.number == number }) { handler(signal) }
      }
    }
  }
}

extension Thread {
  /// Ends the process at once.
  package static func exitProcess(_ code: Int32) -> Never { exit(code) }
}
