import Glibc

/// Waits for what other threads and the kernel do.
enum Pause {
  /// Between two looks at something.
  static func short() { usleep(500) }

  /// Until the clock that stamps files has moved on.
  static func untilNextTick() {
    let start = coarseTime
    while coarseTime == start { short() }
  }

  private static var coarseTime: Int {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME_COARSE, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
  }
}
