/// How a draft becomes an object: with as few bytes sent as the store's rules allow.
///
/// What is unchanged of an object is copied at the store, the rest is uploaded. The rules: every part but
/// the last has at least `PartLimits.sizeMin` bytes, no part more than `sizeMax`, and there are at most
/// `countMax`. Where something small was written, bytes beside it are uploaded with it; where what is
/// unchanged between two writes is too short for a part, all of it is.
package enum PublishPlan: Hashable, Sendable {
  /// The store has it already.
  case nothing
  /// All of it goes in one request.
  case put
  /// It is a whole object that the store has: one request copies it.
  case copy(ObjectVersion)
  /// A multipart upload of these parts, which tile it.
  case parts([PublishPart])

  /// What decides between them.
  package struct Limits: Hashable, Sendable {
    /// How large parts may be.
    package var parts = PartLimits()
    /// Bytes of an upload part.
    package var partSize = PartLimits.usualPartSize
    /// Bytes of a part that is copied.
    ///
    /// 128 MiB: copied side by side, few enough that their requests don't count.
    package var copyPartSize = 128 << 20
    /// What is not larger is sent in one request rather than in parts, unless a part of it can be copied.
    package var putSizeMax = PartLimits.usualPartSize
    /// What is not larger is copied by one request.
    package var copySizeMax = 5 << 30

    /// Creates the usual limits.
    package init() {}
  }

  /// Plans the publishing of a file.
  ///
  /// - Parameters:
  ///   - extents: where its bytes are.
  ///   - published: the object that is at its key; nil if there is none.
  ///   - hasNewFacts: other facts than that object's are to be stored.
  ///   - limits: the store's rules.
  /// - Throws: `PartLimits.Violation` if it is larger than an object can be.
  package init(
    _ extents: FileExtents,
    published: ObjectVersion?,
    hasNewFacts: Bool = false,
    limits: Limits = Limits()
  ) throws(PartLimits.Violation) {
    let size = extents.size
    if let published, !hasNewFacts, extents.isWhole(of: published) {
      self = .nothing
    } else if let version = extents.wholeVersion, size <= limits.copySizeMax {
      self = .copy(version)
    } else if size <= limits.putSizeMax,
      CopyCuts(extents, sizeMin: limits.parts.sizeMin).copies.isEmpty
    {
      self = .put
    } else {
      self = .parts(try PublishPart.parts(of: extents, limits))
    }
  }
}

/// A part of a draft's multipart upload.
package struct PublishPart: Hashable, Sendable {
  /// Where its bytes come from.
  package enum Source: Hashable, Sendable {
    /// This machine sends them.
    case upload
    /// The store copies them from this version, from this offset on.
    case copy(ObjectVersion, at: Int)
  }

  /// Its bytes in the file.
  package let range: ByteRange
  /// Where they come from.
  package let source: Source

  /// Creates a part.
  package init(_ range: ByteRange, _ source: Source) {
    self.range = range
    self.source = source
  }
}

extension PublishPart {
  fileprivate static func parts(
    of extents: FileExtents,
    _ limits: PublishPlan.Limits
  ) throws(PartLimits.Violation) -> [PublishPart] {
    let (rules, size) = (limits.parts, extents.size)
    let (product, overflow) = rules.sizeMax.multipliedReportingOverflow(by: rules.countMax)
    guard overflow || size <= product else { throw .objectSize(size, max: product) }
    var cuts = CopyCuts(extents, sizeMin: rules.sizeMin)
    if cuts.copies.isEmpty, let parts = try streamed(size, limits) { return parts }
    var (partSize, copySize) = (limits.partSize, limits.copyPartSize)
    while true {
      let parts = parts(size, cuts.copies, rules, partSize: partSize, copySize: copySize)
      if parts.count <= rules.countMax { return parts }
      // Too many: larger ones, and only what is longer is copied.
      guard cuts.sizeMin < rules.sizeMax || partSize < rules.sizeMax else {
        return try PartPlan(size: size, partSize: rules.sizeMax, limits: rules).ranges
          .map { PublishPart($0, .upload) }
      }
      partSize = min(2 * partSize, rules.sizeMax)
      copySize = min(2 * copySize, rules.sizeMax)
      cuts = CopyCuts(extents, sizeMin: min(2 * cuts.sizeMin, rules.sizeMax))
    }
  }

  /// Cuts what is uploaded as a whole just as it is cut when it is sent while it is being written, so that
  /// those parts count; nil if it is too long for that.
  private static func streamed(
    _ size: Int,
    _ limits: PublishPlan.Limits
  ) throws(PartLimits.Violation) -> [PublishPart]? {
    let stream = try StreamPlan(partSize: limits.partSize, limits: limits.parts)
    var parts: [PublishPart] = []
    var end = 0
    while end < size {
      guard let next = stream.size(ofPart: parts.count + 1) else { return nil }
      let range = ByteRange(end, min(size, end + next))
      parts.append(PublishPart(range, .upload))
      end = range.upperBound
    }
    return parts
  }

  private static func parts(
    _ size: Int,
    _ copies: [FileExtents.Piece],
    _ rules: PartLimits,
    partSize: Int,
    copySize: Int
  ) -> [PublishPart] {
    var parts: [PublishPart] = []
    var end = 0
    func upload(to next: Int) {
      for range in pieces(ByteRange(end, next), partSize, rules) {
        parts.append(PublishPart(range, .upload))
      }
    }
    for copy in copies {
      guard case .stored(let version, let offset) = copy.place else { continue }
      upload(to: copy.range.lowerBound)
      for range in pieces(copy.range, copySize, rules) {
        let source = offset + range.lowerBound - copy.range.lowerBound
        parts.append(PublishPart(range, .copy(version, at: source)))
      }
      end = copy.range.upperBound
    }
    upload(to: size)
    return parts
  }

  /// Cuts a range into as many equal parts of about `partSize` as the least size allows.
  private static func pieces(
    _ range: ByteRange,
    _ partSize: Int,
    _ rules: PartLimits
  ) -> [ByteRange] {
    guard !range.isEmpty else { return [] }
    let wanted = (range.count - 1) / min(partSize, rules.sizeMax) + 1
    let count = max(1, min(wanted, range.count / rules.sizeMin))
    return (0..<count).map { index in
      ByteRange(
        range.lowerBound + range.count / count * index + min(index, range.count % count),
        range.lowerBound + range.count / count * (index + 1) + min(index + 1, range.count % count)
      )
    }
  }
}

/// Which ranges of a file are copied at the store: as many bytes as possible, so that each copied range, and
/// each range between two of them, is long enough for a part.
struct CopyCuts {
  /// The fewest bytes of a range that isn't the file's last.
  let sizeMin: Int
  /// What is copied, in order.
  private(set) var copies: [FileExtents.Piece] = []

  /// A way to copy up to some run.
  private struct Way {
    /// Bytes that are cut off from the run's beginning, for the upload before it.
    var cut: Int
    /// Bytes copied in the runs before it.
    var copied: Int
    /// The run copied before it, which of its ways, and what is cut off from that run's end.
    var before: (run: Int, way: Int, cut: Int)?
  }

  /// How many runs back the one copied before is looked for.
  ///
  /// A run is left out only if it is too short to lend its neighbours what they lack. Two in a row never
  /// need to be left out: with all of one uploaded, the upload beside the other lacks nothing any more. A
  /// third is for runs that must be left out at the end of such a chain.
  private static let runCountMax = 4

  /// Chooses for a file.
  init(_ extents: FileExtents, sizeMin: Int) {
    self.sizeMin = sizeMin
    let size = extents.size
    let runs = extents.pieces.filter { piece in
      guard case .stored = piece.place else { return false }
      return piece.range.count >= sizeMin || piece.range.upperBound == size
    }
    var ways: [[Way]] = []
    for (index, run) in runs.enumerated() {
      let keep = run.range.upperBound == size ? 1 : sizeMin
      var found: [Way] = []
      let lack = lack(run.range.lowerBound)
      if run.range.count - lack >= keep { found.append(Way(cut: lack, copied: 0)) }
      for earlier in max(0, index - Self.runCountMax)..<index {
        let last = runs[earlier].range
        let lack = self.lack(run.range.lowerBound - last.upperBound)
        for (number, way) in ways[earlier].enumerated() {
          // What the earlier run has to spare, nobody else can use.
          let lent = min(lack, last.count - way.cut - sizeMin)
          guard lent >= 0, run.range.count - (lack - lent) >= keep else { continue }
          found.append(
            Way(
              cut: lack - lent,
              copied: way.copied + last.count - way.cut - lent,
              before: (earlier, number, lent)
            )
          )
        }
      }
      ways.append(Self.best(found))
    }
    copies = Self.chain(runs, ways)
  }

  /// What an upload of so many bytes lacks.
  private func lack(_ count: Int) -> Int { count == 0 ? 0 : max(0, sizeMin - count) }

  /// Leaves out ways that another is better than in both respects.
  private static func best(_ ways: [Way]) -> [Way] {
    var best: [Way] = []
    for way in ways.sorted(by: { ($0.cut, -$0.copied) < ($1.cut, -$1.copied) }) {
      // A longer cut must be worth more than it costs.
      if let last = best.last, last.copied - last.cut >= way.copied - way.cut { continue }
      best.append(way)
    }
    return best
  }

  /// Follows the way that copies most back to its beginning.
  private static func chain(
    _ runs: [FileExtents.Piece],
    _ ways: [[Way]]
  ) -> [FileExtents.Piece] {
    var best: (run: Int, way: Int, copied: Int)?
    for (run, found) in ways.enumerated() {
      for (number, way) in found.enumerated() {
        let copied = way.copied + runs[run].range.count - way.cut
        if copied > best?.copied ?? 0 { best = (run, number, copied) }
      }
    }
    var copies: [FileExtents.Piece] = []
    var next = best.map { (run: $0.run, way: $0.way, cut: 0) }
    while let (run, number, cut) = next {
      let (range, way) = (runs[run].range, ways[run][number])
      copies.append(
        runs[run].clamped(to: ByteRange(range.lowerBound + way.cut, range.upperBound - cut))
      )
      next = way.before
    }
    return copies.reversed()
  }
}
