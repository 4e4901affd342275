import Glibc

/// Which random runs a test makes: more of them, or the one that failed, are asked for by
/// `DIPPER_TEST_SEEDS`.
package enum Seeds {
  private static let name = "DIPPER_TEST_SEEDS"

  /// The first `count` seeds; with `DIPPER_TEST_SEEDS=N` the first N, with `=FROM-TO` those.
  package static func usually(_ count: UInt64) -> Range<UInt64> {
    guard let value = getenv(name).map({ String(cString: $0) }) else { return 0..<count }
    let ends = value.split(separator: "-", omittingEmptySubsequences: false).map { UInt64($0) }
    switch (ends.count, ends.first ?? nil, ends.last ?? nil) {
    case (1, let count?, _) where count > 0: return 0..<count
    case (2, let first?, let last?) where first <= last && last < .max: return first..<last + 1
    default: preconditionFailure("\(name) is a number of seeds, or FROM-TO, and not \"\(value)\"")
    }
  }

  /// What to type to see a failure again, and what the run did.
  package static func program(_ seed: UInt64, of suite: String, _ operations: [String]) -> String {
    "again by: \(name)=\(seed)-\(seed) swift test --filter \(suite)\nafter\n  "
      + operations.joined(separator: "\n  ")
  }
}
