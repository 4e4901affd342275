package import Core

/// The text that says which parts of an unfinished upload the store has (docs/checkpoint-format.md).
///
/// The head, which says what the parts are parts of and where the upload is, then a line per part.
package struct UploadCheckpoint: Hashable, Sendable {
  /// What the parts belong to, and where they are.
  package var identity: CheckpointIdentity
  /// The upload that the parts are in.
  package let upload: UploadTarget
  /// The parts by number.
  package private(set) var parts: [Int: UploadedPart] = [:]
  /// The text ends inside a line, so nothing may be appended to it.
  package private(set) var isTorn = false

  /// Creates the checkpoint of an upload that was begun just now.
  package init(identity: CheckpointIdentity, upload: UploadTarget) {
    self.identity = identity
    self.identity.upload = upload
    self.upload = upload
  }

  /// Reads a text.
  ///
  /// Lines that make no sense are dropped; of two for one part the later counts.
  package init(parsing text: [UInt8]) throws(Checkpoint.ParseError) {
    var lines = Lines(text)
    identity = try CheckpointIdentity(readingFrom: &lines)
    guard let upload = identity.upload else { throw .otherKind(identity.kind) }
    self.upload = upload
    while let line = lines.next() {
      if let part = UploadedPart(parsing: line) { parts[part.partNumber] = part }
    }
    isTorn = lines.hasRest
  }

  /// Notes that the store has a part.
  package mutating func insert(_ part: UploadedPart) { parts[part.partNumber] = part }

  /// The whole text.
  package var text: String {
    parts.values.sorted { $0.partNumber < $1.partNumber }
      .reduce(into: identity.text) { $0 += $1.line }
  }
}

extension UploadedPart {
  /// The part's line, such as `1 20971520 9b2cf535f27731c974343645a3985328 995dc9bbdf1939fa`, with its
  /// end; what isn't known is `-`.
  var line: String {
    let size = size.map { "\($0)" } ?? "-"
    let crc = crc64?.sixteenDigits ?? "-"
    return "\(partNumber) \(size) \(PercentEncoding.encoded(etag.value.utf8)) \(crc)\n"
  }

  /// Reads a line without its end; nil if it is not one.
  init?(parsing line: ArraySlice<UInt8>) {
    let words = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
    guard words.count == 4, let number = words[0].decimal, (1...10_000).contains(number),
      let etag = PercentEncoding.decoded(words[2]), !etag.isEmpty
    else { return nil }
    let isNoSize = words[1].elementsEqual("-".utf8)
    let isNoChecksum = words[3].elementsEqual("-".utf8)
    let size = words[1].decimal
    let crc =
      words[3].count == 16 ? UInt64(String(decoding: words[3], as: UTF8.self), radix: 16) : nil
    guard isNoSize || size != nil, isNoChecksum || crc != nil else { return nil }
    self.init(
      partNumber: number,
      // The value itself: its spelling may begin and end in quotes of its own.
      etag: ETag("\"" + String(decoding: etag, as: UTF8.self) + "\""),
      size: size,
      crc64: crc
    )
  }
}
