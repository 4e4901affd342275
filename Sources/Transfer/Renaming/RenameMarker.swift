package import Core
internal import Crypto
internal import Support

/// What a renaming of many keys says of itself in the bucket, so that other machines can tell it from
/// two directories, and finish it if its process is dead (docs/checkpoint-format.md).
///
/// What it says is the object's user metadata; if that would be too long, the text in it. Whoever renews it
/// puts it anew, so that its time tells when that was.
package struct RenameMarker: Hashable, Sendable {
  private static let head = "dipper renaming"
  private static let version = "1"
  /// A marker is smaller: two keys and a path, each byte of them spelled `%NN`.
  static let sizeMax = 64 << 10
  /// What is below this, from the beginning of the mount's keys on, are markers.
  package static let place = ".dipper/renames/"
  /// The directory that a mount doesn't list at its root.
  package static let directoryName = ".dipper"
  /// How long after it was put a marker counts as that of a living process.
  package static let lease = Duration.seconds(600)

  /// The old beginning of the keys.
  package let source: ObjectKey
  /// The new one.
  package let target: ObjectKey
  /// The machine's name.
  package let machine: String
  /// What tells machines of the same name apart.
  package let machineID: String
  /// The process.
  package let processID: Int
  /// Where its journal lies on that machine.
  package let journal: String
  /// When the renaming began, by that machine's clock.
  package let began: Timestamp

  /// Creates the marker of a renaming of this process.
  init(_ plan: RenamePlan, began: Timestamp) {
    source = plan.source
    target = plan.target
    machine = Machine.name
    // The id itself is not for others to know. Source: machine-id(5).
    let digest = SHA256.digest(of: Array("dipper renames on \(Machine.id)".utf8))
    machineID = digest.prefix(16).hexadecimal
    processID = Int(Disk.processID)
    journal = plan.journalPath
    self.began = began
  }

  /// The same machine works with the same journal: of two such processes one is dead.
  func isOurs(_ other: RenameMarker) -> Bool {
    machine == other.machine && machineID == other.machineID && journal == other.journal
  }

  /// Who renames, for messages.
  package var holder: String { "process \(processID) on \(machine.utf8.printable)" }

  private var fields: [(name: String, value: String)] {
    let fields: [(String, [UInt8])] = [
      ("source", source.bytes), ("target", target.bytes), ("machine", Array(machine.utf8)),
      ("machine-id", Array(machineID.utf8)), ("pid", Array("\(processID)".utf8)),
      ("journal", Array(journal.utf8)), ("began", Array("\(began.seconds)".utf8)),
    ]
    return fields.map { ($0, PercentEncoding.encoded($1)) }
  }

  /// The whole text.
  var text: String {
    fields.reduce("\(Self.head) \(Self.version)\n") { $0 + "\($1.name) \($1.value)\n" }
  }

  /// The same as user metadata; nil if that is too long for it.
  var metadata: [String: String]? {
    var metadata = [Self.versionName: Self.version]
    for (name, value) in fields { metadata[Self.metadataPrefix + name] = value }
    let byteCount = metadata.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
    return byteCount <= Self.metadataSizeMax ? metadata : nil
  }

  private static let metadataPrefix = "dipper-"
  private static let versionName = "dipper-renaming"
  /// Source: Amazon S3 User Guide, "User-defined object metadata": 2 KB of names and values.
  private static let metadataSizeMax = 2000

  /// Reads user metadata; nil if it is in the text.
  init?(_ metadata: [String: String]) throws(Checkpoint.ParseError) {
    guard let version = metadata[Self.versionName] else { return nil }
    let lines = metadata.filter { $0.key.hasPrefix(Self.metadataPrefix) }
      .map { "\($0.key.dropFirst(Self.metadataPrefix.count)) \($0.value)\n" }
    let text = "\(Self.head) \(version)\n" + lines.joined()
    try self.init(parsing: Array(text.utf8))
  }

  /// Reads a text; fields that it doesn't know are passed over.
  package init(parsing bytes: [UInt8]) throws(Checkpoint.ParseError) {
    var lines = Lines(bytes)
    guard let first = lines.next(),
      case let words = String(decoding: first, as: UTF8.self).split(separator: " "),
      words.count == 3, words[0] + " " + words[1] == Self.head
    else { throw .damaged("its first line is none of a renaming's marker") }
    guard words[2] == Self.version else { throw .unknownVersion(String(words[2])) }
    var fields: [String: [UInt8]] = [:]
    while let line = lines.next() {
      let parts = line.split(separator: UInt8(ascii: " "), maxSplits: 1)
      guard parts.count == 2, let value = PercentEncoding.decoded(parts[1]) else { continue }
      fields[String(decoding: parts[0], as: UTF8.self)] = value
    }
    func text(_ name: String) -> String {
      String(decoding: fields[name] ?? [], as: UTF8.self)
    }
    guard let source = fields["source"], let target = fields["target"], !source.isEmpty,
      !target.isEmpty, !target.starts(with: source), !source.starts(with: target)
    else { throw .damaged("it doesn't say what is renamed to what") }
    self.source = ObjectKey(source)
    self.target = ObjectKey(target)
    machine = text("machine")
    machineID = text("machine-id")
    processID = Int(text("pid")) ?? 0
    journal = text("journal")
    began = Timestamp(seconds: Int(text("began")) ?? 0)
  }
}

/// A renaming that a marker in the bucket tells of.
package struct MarkedRenaming: Hashable, Sendable {
  /// The marker's key.
  package let key: ObjectKey
  /// What it says.
  package let marker: RenameMarker
  /// The marker's version.
  let version: ObjectVersion

  /// True if its process may be alive: it has renewed the marker not long before `now`, by the store's clock.
  package func isAlive(at now: Timestamp) -> Bool {
    let (end, overflow) = version.lastModified.nanoseconds.addingReportingOverflow(
      RenameMarker.lease.wholeNanoseconds
    )
    return overflow || now.nanoseconds < end
  }
}
