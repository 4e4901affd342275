internal import CLinux
package import Core
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
    /// The power is failing.
    case powerFailure
    /// The processor time that the process may take is nearly used up.
    case processorLimit

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
      case .powerFailure: SIGPWR
      case .processorLimit: SIGXCPU
      }
    }
  }

  /// What would end the process and is no reason to; the last are the real-time signals that are free.
  private static var ignored: [Int32] {
    let usual = [SIGPIPE, SIGXFSZ, SIGIO, SIGVTALRM, SIGPROF, SIGSTKFLT]
    return usual + Array(__libc_current_sigrtmin()...__libc_current_sigrtmax())
  }

  /// Calls `handler` with each signal of `signals` from now on, one after the other.
  ///
  /// Call it on the main thread before another is started: threads inherit what is blocked. Also
  /// makes writing to a closed pipe, or beyond the limit of a file's size, an error instead of a
  /// signal, and ignores what says nothing to this program and would end it.
  ///
  /// - Throws: `DiskFailure` if the system gives no more threads.
  package static func start(
    _ signals: Set<Signal>,
    _ handler: @escaping @Sendable (Signal) -> Void
  ) throws(DiskFailure) {
    for number in ignored { signal(number, SIG_IGN) }
    var set = sigset_t()
    sigemptyset(&set)
    for signal in signals { sigaddset(&set, signal.number) }
    pthread_sigmask(SIG_BLOCK, &set, nil)
    let blocked = set
    try Thread.require("dipper-signals") {
      var waited = blocked
      while true {
        var number: Int32 = 0
        guard sigwait(&waited, &number) == 0 else { continue }
        if let signal = signals.first(where: { $0.number == number }) { handler(signal) }
      }
    }
  }
}

/// What becomes of a program whose output nobody reads any more.
package enum ClosedPipe {
  /// True if whoever started this program had it ignore that: then it is an error like any other.
  ///
  /// To be asked before `SignalWatch.start`.
  package static var isIgnored: Bool { clinux_is_ignored(SIGPIPE) != 0 }

  /// Ends the process by SIGPIPE, as a program ends that takes no care of it.
  package static func endProcess() -> Never {
    clinux_end_by_signal(SIGPIPE)
    // Not reached; the code is the one that a shell shows for it.
    exit(128 + SIGPIPE)
  }
}

extension Thread {
  /// Ends the process at once.
  package static func exitProcess(_ code: Int32) -> Never { exit(code) }
}
