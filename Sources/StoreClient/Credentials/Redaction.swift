internal import Core

/// Makes what a program or a service says fit for a message: one line, short, without secrets.
enum Redaction {
  private static let countMax = 300
  /// A word of 16 characters with letters and digits is a key more often than a name.
  private static let secretCountMin = 16

  /// Returns `text` on one line with what may be a secret replaced by `***`.
  ///
  /// A word is taken for a secret if it looks like a key, or if it follows a name that says so, as in
  /// `password=...`. It is better to hide a file's name than to show a secret.
  static func redacted(_ text: String) -> String {
    var shown = ""
    var word = ""
    var hidesNext = false
    func finish() {
      guard !word.isEmpty else { return }
      let isSecret = hidesNext || looksSecret(word)
      shown += isSecret ? "***" : word
      hidesNext = namesSecret(word)
      word = ""
    }
    for character in text.utf8.printable.prefix(4096) {
      if character.isWordCharacter {
        word.append(character)
      } else {
        finish()
        shown.append(character)
      }
    }
    finish()
    return String(shown.prefix(countMax))
  }

  private static func looksSecret(_ word: String) -> Bool {
    guard word.utf8.count >= secretCountMin else { return false }
    return word.utf8.count >= 32
      || (word.contains(where: \.isNumber) && word.contains(where: \.isLetter))
  }

  private static func namesSecret(_ word: String) -> Bool {
    let name = word.lowercased()
    return ["secret", "password", "passwd", "token", "accesskey", "access_key", "bearer"]
      .contains { name.contains($0) }
  }
}

extension Character {
  /// True for what keys and tokens are made of, which is also what names are made of.
  fileprivate var isWordCharacter: Bool {
    guard let byte = asciiValue else { return true }
    return switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"),
      UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "~"):
      true
    default: false
    }
  }
}
