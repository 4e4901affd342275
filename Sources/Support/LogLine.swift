internal import Core

/// One line of the log.
struct LogLine {
  let time: Timestamp
  let level: Log.Level
  let message: String
  let fields: KeyValuePairs<String, String>

  /// The line in a format, without its end.
  func text(_ format: Log.Format) -> String {
    switch format {
    case .text: "\(time.iso8601) \(level) \(bare)"
    case .json: json
    }
  }

  /// Message and fields without time and level, which the system's log adds itself.
  var bare: String {
    var line = message.utf8.printable
    for (name, value) in fields { line += " \(name)=\(quoted(value))" }
    return line
  }

  private var json: String {
    var line =
      "{\"time\":\"\(time.iso8601)\",\"level\":\"\(level)\",\"message\":\(jsonString(message))"
    for (name, value) in fields { line += ",\(jsonString(name)):\(jsonString(value))" }
    return line + "}"
  }

  /// A value as it is if it is one plain word, else in quotes.
  private func quoted(_ value: String) -> String {
    let printable = value.utf8.printable
    let isPlain = !printable.isEmpty && printable.utf8.allSatisfy { $0 > 0x20 && $0 != 0x22 }
    guard !isPlain else { return printable }
    return
      "\"\(printable.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\\\""))\""
  }

  /// A JSON string: the log writes JSON without an encoder, since Support stands below them all.
  private func jsonString(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case let control where control.value < 0x20:
        let digits = String(control.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}
