import Core
import Simulation
import Testing

@Suite struct PublishPlanTests {
  private static let mebibyte = 1 << 20

  private func version(_ name: String, size: Int) -> ObjectVersion {
    ObjectVersion(
      key: ObjectKey(name),
      etag: ETag(name),
      size: size,
      lastModified: Timestamp(seconds: 1)
    )
  }

  /// What must hold of the parts of any plan.
  private func check(
    _ parts: [PublishPart],
    of extents: FileExtents,
    _ limits: PublishPlan.Limits,
    _ what: Comment
  ) {
    var end = 0
    for (index, part) in parts.enumerated() {
      #expect(part.range.lowerBound == end && !part.range.isEmpty, what)
      end = part.range.upperBound
      #expect(part.range.count <= limits.parts.sizeMax, what)
      if index < parts.count - 1 { #expect(part.range.count >= limits.parts.sizeMin, what) }
      guard case .copy(let version, let offset) = part.source else { continue }
      // Just the bytes that the extents say, and none that the object hasn't.
      #expect(offset + part.range.count <= version.size, what)
      #expect(
        extents.pieces(in: part.range) == [.init(part.range, .stored(version, at: offset))],
        what
      )
    }
    #expect(end == extents.size, what)
    #expect(parts.count <= limits.parts.countMax, what)
  }

  private func uploaded(_ parts: [PublishPart]) -> Int {
    parts.reduce(0) { $0 + ($1.source == .upload ? $1.range.count : 0) }
  }

  /// The fewest bytes that any way to cut the file uploads, found by looking at all of them.
  private func leastUploaded(_ extents: FileExtents, sizeMin: Int) -> Int {
    let size = extents.size
    func cost(_ start: Int, _ end: Int) -> Int {
      let pieces = extents.pieces(in: ByteRange(start, end))
      if pieces.count == 1, case .stored = pieces[0].place { return 0 }
      return end - start
    }
    var least = [Int?](repeating: nil, count: size + 1)
    least[0] = 0
    for start in 0..<size {
      guard let before = least[start] else { continue }
      for end in (start + 1)...size where end == size || end - start >= sizeMin {
        least[end] = min(least[end] ?? .max, before + cost(start, end))
      }
    }
    return least[size] ?? .max
  }

  @Test(arguments: 0..<400 as Range<UInt64>)
  func aPlanUploadsAsLittleAsTheRulesAllow(seed: UInt64) throws {
    var random = Seeded(seed)
    var limits = PublishPlan.Limits()
    limits.parts.sizeMin = Int.random(in: 2...6, using: &random)
    limits.partSize = limits.parts.sizeMin + Int.random(in: 0...6, using: &random)
    limits.copyPartSize = limits.partSize + Int.random(in: 0...20, using: &random)
    limits.putSizeMax = 0
    limits.copySizeMax = 0
    let base = version("base", size: Int.random(in: 1...70, using: &random))
    let other = version("other", size: 30)
    var extents = FileExtents(base)
    for _ in 0..<Int.random(in: 0...7, using: &random) {
      let start = Int.random(in: 0..<70, using: &random)
      let range = ByteRange(offset: start, count: Int.random(in: 1...9, using: &random))
      switch Int.random(in: 0..<4, using: &random) {
      case 0: extents.insert(other, at: Int.random(in: 0...20, using: &random), as: range)
      case 1: extents.punch(range)
      default: extents.write(ByteRange(offset: start, count: 1 + range.count % 3), file: 1)
      }
    }
    guard case .parts(let parts) = try PublishPlan(extents, published: nil, limits: limits) else {
      Issue.record("not in parts")
      return
    }
    let what: Comment = "seed \(seed): \(extents.pieces.map { "\($0.range) \($0.place)" })"
    check(parts, of: extents, limits, what)
    #expect(uploaded(parts) == leastUploaded(extents, sizeMin: limits.parts.sizeMin), what)
  }

  @Test func oneByteOfAGibibyteCostsThePartAroundIt() throws {
    let base = version("base", size: 1 << 30)
    var extents = FileExtents(base)
    extents.write(ByteRange(offset: 512 * Self.mebibyte, count: 1), file: 1)
    let limits = PublishPlan.Limits()
    guard case .parts(let parts) = try PublishPlan(extents, published: base, limits: limits) else {
      Issue.record("not in parts")
      return
    }
    check(parts, of: extents, limits, "a gibibyte")
    #expect(uploaded(parts) == 5 * Self.mebibyte)
    #expect(parts.count <= 10)
  }

  @Test func manySmallWritesStayWithinTheNumberOfParts() throws {
    // A byte in every 12 MiB of 200 GiB: copying all between would take 34,000 parts.
    let base = version("base", size: 200 << 30)
    var extents = FileExtents(base)
    for offset in stride(from: 6 << 20, to: base.size, by: 12 << 20) {
      extents.write(ByteRange(offset: offset, count: 1), file: 1)
    }
    let limits = PublishPlan.Limits()
    guard case .parts(let parts) = try PublishPlan(extents, published: base, limits: limits) else {
      Issue.record("not in parts")
      return
    }
    check(parts, of: extents, limits, "200 GiB")
  }

  @Test func whatIsLargerThanAnObjectIsRefused() throws {
    var extents = FileExtents()
    extents.resize(to: 10_000 * (5 << 30))
    let limits = PublishPlan.Limits()
    guard case .parts(let parts) = try PublishPlan(extents, published: nil, limits: limits) else {
      Issue.record("not in parts")
      return
    }
    #expect(parts.count == 10_000)
    extents.resize(to: extents.size + 1)
    #expect(throws: PartLimits.Violation.self) {
      try PublishPlan(extents, published: nil, limits: limits)
    }
  }

  @Test func theMethodFollowsFromWhatThereIs() throws {
    let base = version("base", size: 100)
    let extents = FileExtents(base)
    #expect(try PublishPlan(extents, published: base) == .nothing)
    #expect(try PublishPlan(extents, published: base, hasNewFacts: true) == .copy(base))
    #expect(try PublishPlan(extents, published: nil) == .copy(base))
    var written = extents
    written.write(ByteRange(0, 1), file: 1)
    #expect(try PublishPlan(written, published: base) == .put)
    #expect(try PublishPlan(FileExtents(), published: nil) == .put)
    #expect(try PublishPlan(FileExtents(), published: base) == .put)
    let large = version("large", size: 6 << 30)
    guard case .parts(let parts) = try PublishPlan(FileExtents(large), published: nil) else {
      Issue.record("6 GiB can't be copied by one request")
      return
    }
    #expect(uploaded(parts) == 0)
  }

  @Test func whatIsUploadedAsAWholeIsCutAsItIsSentWhileItIsWritten() throws {
    var limits = PublishPlan.Limits()
    limits.partSize = 5 << 20
    limits.putSizeMax = 5 << 20
    var extents = FileExtents()
    extents.write(ByteRange(0, 12 << 20), file: 1)
    let mebibyte = Self.mebibyte
    #expect(
      try PublishPlan(extents, published: nil, limits: limits)
        == .parts([
          PublishPart(ByteRange(0, 5 * mebibyte), .upload),
          PublishPart(ByteRange(5 * mebibyte, 10 * mebibyte), .upload),
          PublishPart(ByteRange(10 * mebibyte, 12 * mebibyte), .upload),
        ])
    )
  }
}
