import Core
import Glibc
import Support

/// What the kernel says of this process.
enum ProcessFacts {
  /// The id of the thread of that name; nil if there is none.
  static func thread(named name: String) -> String? {
    guard let directory = opendir("/proc/self/task") else { return nil }
    defer { closedir(directory) }
    while let entry = readdir(directory) {
      let id = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if text("/proc/self/task/\(id)/comm") == "\(name)\n" { return id }
    }
    return nil
  }

  /// True if the thread waits for something.
  static func isAsleep(_ thread: String) -> Bool {
    value("State:", in: "/proc/self/task/\(thread)/status").hasPrefix("S")
  }

  /// How often the thread has given up a processor, wanting to or not.
  static func switchCount(_ thread: String) -> Int {
    let path = "/proc/self/task/\(thread)/status"
    return number("voluntary_ctxt_switches:", in: path)
      + number("nonvoluntary_ctxt_switches:", in: path)
  }

  /// True if the process runs with a sanitizer.
  static var isSanitized: Bool {
    dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil
  }

  /// The memory that the process has now, in bytes.
  static var residentSize: Int { number("VmRSS:", in: "/proc/self/status") << 10 }

  /// The most memory that the process has had, in bytes.
  static var peakResidentSize: Int { number("VmHWM:", in: "/proc/self/status") << 10 }

  private static func number(_ name: String, in path: String) -> Int {
    Int(value(name, in: path).prefix { $0.isNumber }) ?? -1
  }

  private static func value(_ name: String, in path: String) -> Substring {
    for line in text(path).split(separator: "\n") where line.hasPrefix(name) {
      return line.dropFirst(name.count).drop { $0 == "\t" || $0 == " " }
    }
    return ""
  }

  private static func text(_ path: String) -> String {
    var buffer = [UInt8](repeating: 0, count: 16_384)
    let count = buffer.withUnsafeMutableBytes { buffer in
      try? FileDescriptor.open(path, .read).read(into: buffer, at: 0)
    }
    return String(decoding: buffer.prefix(count ?? 0), as: UTF8.self)
  }
}
