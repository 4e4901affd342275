/// A point in which a store is known not to do what the contract says.
enum Deviation: Hashable, Sendable {
  case listsInTreeOrder
  case refusesKeyBesideItsPrefix
  case keepsDirectories
  case listsReplacedParts
  case mayActAfterDeadline
  case losesNewlines
  case losesBackslashes
  case ignoresCopySourceCondition
  case ignoresCopyTargetCondition
  case failsAfterAbort
  case racesConditions
  case listsDirectories
  case endsPageBehindMarker
  case makesDirectoriesSlowly

  // Not the servers' doing, but the same for both.
  private static let actsLate = "a request may be on its way when the deadline is looked at"

  // The gateways, where they are not as wrong as the server behind them.
  private static let flat: [Deviation: String] = [.mayActAfterDeadline: actsLate]
  private static let tree: [Deviation: String] = [
    .refusesKeyBesideItsPrefix: "a name is either a file's or a directory's",
    .keepsDirectories: "a directory is there until it is removed",
    .listsDirectories: "a listing without a delimiter has directories as objects",
    .makesDirectoriesSlowly: "one lock for all names, and a request for each directory of a key",
    .mayActAfterDeadline: actsLate,
  ]
  private static let newlines = [
    Deviation.losesNewlines: "404 on a key with a newline (moto 5.2 behind it)"
  ]
  private static let backslashes = [
    Deviation.losesBackslashes: "a key with a backslash is not listed (SeaweedFS 4.48 behind it)",
    .keepsDirectories: "a directory lingers after its last key (SeaweedFS 4.48 behind it)",
    .endsPageBehindMarker:
      "a page of one entry, the prefix's own marker, says that it is the last (SeaweedFS 4.48 behind it)",
  ]

  /// What is known of each store by name, with what it does instead, as observed.
  static let known: [String: [Deviation: String]] = [
    "simulated": [:],
    "simulated with extras": [:],
    "local": [
      .refusesKeyBesideItsPrefix: "a name is either a file's or a directory's"
    ],
    "moto": [
      .losesNewlines: "404 on a key with a newline (moto 5.2)",
      .ignoresCopySourceCondition: "x-amz-copy-source-if-match is not looked at (moto 5.2)",
      .ignoresCopyTargetCondition: "If-None-Match on a copy is not looked at (moto 5.2)",
      .failsAfterAbort: "answers 500 to anything on an aborted upload (moto 5.2)",
      .mayActAfterDeadline: actsLate,
      .racesConditions: "checks and writes without a lock (moto 5.2)",
    ],
    "seaweedfs": [
      .listsInTreeOrder: "lists a/b before a-b (SeaweedFS 4.48)",
      .keepsDirectories: "a directory lingers after its marker or its last key (SeaweedFS 4.48)",
      .listsReplacedParts: "a part uploaded twice is listed twice (SeaweedFS 4.48)",
      .mayActAfterDeadline: actsLate,
      .losesBackslashes: "a key with a backslash is not listed (SeaweedFS 4.48)",
    ],
    "tos-moto": flat.merging(newlines) { $1 },
    "tos-moto-tree": tree.merging(newlines) { $1 },
    "tos-seaweedfs": flat.merging(backslashes) { $1 }
      .merging([.listsInTreeOrder: "lists a/b before a-b (SeaweedFS 4.48 behind it)"]) { $1 },
    "tos-seaweedfs-tree": tree.merging(backslashes) { $1 },
  ]
}
