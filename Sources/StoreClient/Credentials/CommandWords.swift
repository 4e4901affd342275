/// The words of a command line, as a shell would split it; nothing is expanded.
///
/// Source: AWS SDKs and Tools Reference Guide, "Process credential provider"; POSIX, Shell Command
/// Language, 2.2 "Quoting".
enum CommandWords {
  /// Returns the words; nil if a quotation isn't closed or there is no word.
  static func split(_ line: String) -> [String]? {
    var words: [String] = []
    var word: String?
    var quote: Character?
    var isEscaped = false
    for character in line {
      if isEscaped {
        // Inside double quotes only these two are escaped.
        if quote == "\"", character != "\"", character != "\\" { word = (word ?? "") + "\\" }
        word = (word ?? "") + String(character)
        isEscaped = false
      } else if character == "\\", quote != "'" {
        isEscaped = true
      } else if character == quote {
        quote = nil
      } else if quote == nil, character == "\"" || character == "'" {
        quote = character
        word = word ?? ""
      } else if quote == nil, character == " " || character == "\t" {
        if let finished = word { words.append(finished) }
        word = nil
      } else {
        word = (word ?? "") + String(character)
      }
    }
    guard quote == nil, !isEscaped else { return nil }
    if let word { words.append(word) }
    return words.first?.isEmpty == false ? words : nil
  }
}
