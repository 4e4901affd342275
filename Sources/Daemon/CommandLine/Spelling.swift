/// Guesses what a misspelled word was meant to be.
enum Spelling {
  /// Returns the candidate nearest to `word`, or nil if none is near enough to be what was meant.
  static func nearest(to word: String, among candidates: [String]) -> String? {
    let limit = word.count <= 3 ? 1 : word.count <= 7 ? 2 : 3
    let word = Array(word.lowercased().unicodeScalars)
    // Hostile input must not cost time: no candidate is that long.
    guard word.count <= 40 else { return nil }
    let ranked = candidates.map { ($0, distance(word, Array($0.unicodeScalars))) }
    guard let best = ranked.min(by: { $0.1 < $1.1 }), best.1 <= limit else { return nil }
    return best.0
  }

  /// The number of letters to insert, drop, change or swap with their neighbour to get from one to
  /// the other (optimal string alignment).
  static func distance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar]) -> Int {
    var beforeLast: [Int] = []
    var last = Array(0...right.count)
    for (row, letter) in left.enumerated() {
      var current = [row + 1]
      for (column, other) in right.enumerated() {
        var best = min(
          last[column] + (letter == other ? 0 : 1),
          last[column + 1] + 1,
          current[column] + 1
        )
        if row > 0, column > 0, letter == right[column - 1], left[row - 1] == other {
          best = min(best, beforeLast[column - 1] + 1)
        }
        current.append(best)
      }
      beforeLast = last
      last = current
    }
    return last[right.count]
  }
}
