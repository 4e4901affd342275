import Foundation

/// The code in pages of the library, held against the functions that are compiled and run.
enum Examples {
  /// The Swift blocks of a page, as lines without the blanks around them.
  static func blocks(_ page: String) -> [[String]] {
    var blocks: [[String]] = []
    var block: [String]?
    for line in page.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
      if line == "```swift" {
        block = []
      } else if line == "```", let lines = block {
        blocks.append(lines)
        block = nil
      } else {
        block?.append(trimmed(line))
      }
    }
    return blocks
  }

  /// Returns true if the lines of `block` follow each other somewhere in `source`.
  static func contains(_ source: SourceText, _ block: [String]) -> Bool {
    let lines = source.lines.map(trimmed)
    guard !block.isEmpty, block.count <= lines.count else { return false }
    return (0...(lines.count - block.count)).contains { start in
      lines[start..<(start + block.count)].elementsEqual(block)
    }
  }

  private static func trimmed(_ line: String) -> String {
    line.trimmingCharacters(in: .whitespaces)
  }
}
