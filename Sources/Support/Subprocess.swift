internal import CLinux
package import Core
internal import Glibc

/// A program that this one started.
package struct Subprocess: Sendable {
  /// Its process id; valid until `wait` has returned.
  package let processID: Int32

  /// How a process ended.
  package enum Ending: Hashable, Sendable {
    /// It ended with this exit code.
    case exited(Int32)
    /// A signal ended it.
    case killed(signal: Int32)
  }

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - path: its path, or a name to look up in `PATH`.
  ///   - arguments: all of them, the program's own name first; each without NUL.
  ///   - extraEnvironment: variables that it gets besides ours, as `NAME=VALUE`.
  ///   - withheldEnvironment: names of our variables that it doesn't get.
  ///   - descriptors: its descriptors 0, 1, 2 and so on; every other one is closed.
  ///   - startsSession: true to cut it loose from our terminal.
  /// - Returns: the running process.
  /// - Throws: `DiskFailure` if it can't be started.
  package static func start(
    _ path: String,
    arguments: [[UInt8]],
    extraEnvironment: [String] = [],
    withheldEnvironment: [String] = [],
    descriptors: [FileDescriptor],
    startsSession: Bool = false
  ) throws(DiskFailure) -> Subprocess {
    var process: pid_t = 0
    let argumentStrings = CStrings(arguments)
    let inherited = inheritedEnvironment(except: extraEnvironment + withheldEnvironment)
    let environmentStrings = CStrings(inherited + extraEnvironment.map { Array($0.utf8) })
    let failure = descriptors.map(\.number).withUnsafeBufferPointer { numbers in
      clinux_spawn(
        &process,
        path,
        argumentStrings.pointers,
        environmentStrings.pointers,
        numbers.baseAddress,
        Int32(numbers.count),
        startsSession ? 1 : 0
      )
    }
    withExtendedLifetime((argumentStrings, environmentStrings, descriptors)) {}
    guard failure == 0 else {
      throw DiskFailure(
        errno: failure,
        action: "start \(path)",
        reason: Self.reason(failure)
      )
    }
    return Subprocess(processID: process)
  }

  /// Why the system starts no program.
  ///
  /// Source: fork(2): EAGAIN is a limit of threads and processes, ENOMEM one of memory.
  package static func reason(_ errno: Int32) -> String {
    errno == EAGAIN || errno == ENOMEM
      ? "the system gave no more processes: raise the limit of them (ulimit -u, TasksMax=) or of memory"
        + " (ulimit -v, MemoryMax=)"
      : errnoDescription(errno)
  }

  /// Sends it a signal; no error if it is gone.
  package func send(signal: Int32) { _ = kill(processID, signal) }

  /// Sends a signal to it and to what it started; for one that has a session of its own.
  package func sendToGroup(signal: Int32) { _ = kill(-processID, signal) }

  /// Returns how it ended; nil if it runs.
  ///
  /// Once it has ended, neither this nor `wait` may be called again.
  package func endingIfEnded() -> Ending? {
    var status: Int32 = 0
    guard waitpid(processID, &status, WNOHANG) == processID else { return nil }
    return Ending(status: status)
  }

  /// Waits until it ends.
  ///
  /// Call it once.
  package func wait() -> Ending {
    var status: Int32 = 0
    while waitpid(processID, &status, 0) == -1 {
      if errno != EINTR { return .exited(-1) }
    }
    return Ending(status: status)
  }

  private static func inheritedEnvironment(except extra: [String]) -> [[UInt8]] {
    let names = extra.compactMap { $0.split(separator: "=").first.map { Array($0.utf8) + [0x3D] } }
    var variables: [[UInt8]] = []
    var next = clinux_environment()
    while let variable = next?.pointee {
      let bytes = Array(UnsafeBufferPointer(start: variable, count: strlen(variable)))
        .map { UInt8(bitPattern: $0) }
      if !names.contains(where: { bytes.starts(with: $0) }) { variables.append(bytes) }
      next = next?.advanced(by: 1)
    }
    return variables
  }

  /// An array of C strings that ends with nil, for exec.
  private final class CStrings {
    let pointers: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
    private let count: Int

    init(_ strings: [[UInt8]]) {
      count = strings.count
      pointers = .allocate(capacity: strings.count + 1)
      for (index, string) in strings.enumerated() {
        let copy = UnsafeMutablePointer<CChar>.allocate(capacity: string.count + 1)
        for (offset, byte) in string.enumerated() { copy[offset] = CChar(bitPattern: byte) }
        copy[string.count] = 0
        (pointers + index).initialize(to: copy)
      }
      (pointers + strings.count).initialize(to: nil)
    }

    deinit {
      for index in 0..<count { pointers[index]?.deallocate() }
      pointers.deinitialize(count: count + 1)
      pointers.deallocate()
    }
  }
}

extension Subprocess.Ending {
  /// Reads what waitpid(2) returns.
  fileprivate init(status: Int32) {
    // Source: wait(2): the low seven bits are the signal, the next byte is the exit code.
    let signal = status & 0x7F
    self = signal == 0 ? .exited((status >> 8) & 0xFF) : .killed(signal: signal)
  }
}
