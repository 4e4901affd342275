internal import CLinux
internal import Glibc

/// The addresses that this process may take, where the system rations them.
package enum AddressSpace {
  /// How much more may be taken.
  package struct Rest: Hashable, Sendable {
    /// Bytes; 0 if there is nothing left.
    package var byteCount: Int
    /// How the shell calls the limit.
    package var limitName: String

    /// Creates a rest.
    package init(byteCount: Int, limitName: String) {
      self.byteCount = byteCount
      self.limitName = limitName
    }
  }

  /// Makes little do: a thread's stack is 1 MiB, also of threads that libraries start, and under a
  /// limit all threads allocate from one arena.
  ///
  /// Call it before a second thread is started.
  package static func prepare() {
    clinux_prepare_threads(Thread.stackSize)
    // malloc otherwise reserves 64 MiB for each of the first threads, and leaves none for the others.
    if clinux_address_limit() >= 0 || clinux_data_limit() >= 0 { _ = clinux_share_arena() }
  }

  /// What the tighter of the limits leaves; nil if there is none, or the system doesn't say.
  package static var rest: Rest? {
    let limits = [
      (limit: clinux_address_limit(), used: 0, name: "ulimit -v"),
      (limit: clinux_data_limit(), used: 5, name: "ulimit -d"),
    ]
    .filter { $0.limit >= 0 }
    // Source: proc(5), "/proc/pid/statm": the first number is the size, the sixth data and stack.
    guard !limits.isEmpty, let text = try? SmallFile.read("/proc/self/statm") else { return nil }
    let pages = text.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }
      .compactMap { Int(String(decoding: $0, as: UTF8.self)) }
    guard pages.count > 5 else { return nil }
    let pageSize = sysconf(Int32(_SC_PAGESIZE))
    return limits.map { limit, used, name in
      Rest(byteCount: max(0, limit - pages[used] * pageSize), limitName: name)
    }
    .min { $0.byteCount < $1.byteCount }
  }
}
