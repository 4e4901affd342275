/// Which machine this is.
package enum Machine {
  /// Its name, as the kernel has it.
  package static var name: String { line(of: "/proc/sys/kernel/hostname") ?? "unknown" }

  /// What tells it from others of that name: the system's own id of this installation, or else of this start.
  package static var id: String {
    line(of: "/etc/machine-id") ?? line(of: "/proc/sys/kernel/random/boot_id") ?? "unknown"
  }

  private static func line(of path: String) -> String? {
    guard let bytes = try? SmallFile.read(path) else { return nil }
    let text = String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    return text.isEmpty ? nil : text
  }
}
