/// Reads and writes sizes as people do: `20M`, `8MiB`, powers of 1024 throughout.
package enum ByteSize {
  /// Returns the bytes that `text` names, or nil if it is not a size.
  ///
  /// Digits, then nothing, `B`, or one of `K M G T` with an optional `B` or `iB`; case doesn't matter.
  package static func parse(_ text: String) -> Int? {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    guard let number = Int(digits) else { return nil }
    let unit = text.dropFirst(digits.count).lowercased()
    guard let shift = shifts[unit] else { return nil }
    let (product, overflow) = number.multipliedReportingOverflow(by: 1 << shift)
    return overflow ? nil : product
  }

  /// Returns the bytes per second that `text` names: a size, with an optional `/s`.
  package static func parseRate(_ text: String) -> Int? {
    let lower = text.lowercased()
    return parse(lower.hasSuffix("/s") ? String(lower.dropLast(2)) : lower)
  }

  /// Returns `count` bytes for a person: `512 B`, `1.5 MiB`, `20 GiB`.
  package static func describe(_ count: Int) -> String {
    var value = Double(count)
    var unit = 0
    while value >= 1024, unit < units.count - 1 {
      value /= 1024
      unit += 1
    }
    // Rounded down, so that what isn't complete never looks complete.
    let tenths = Int(value * 10)
    let shown =
      tenths >= 1000 || tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
    return "\(shown) \(units[unit])"
  }

  private static let units = ["B", "KiB", "MiB", "GiB", "TiB"]

  private static let shifts = [
    "": 0, "b": 0, "k": 10, "kb": 10, "kib": 10, "m": 20, "mb": 20, "mib": 20, "g": 30, "gb": 30,
    "gib": 30, "t": 40, "tb": 40, "tib": 40,
  ]
}
