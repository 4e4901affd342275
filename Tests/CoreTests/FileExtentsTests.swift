import Core
import Simulation
import Testing

@Suite struct FileExtentsTests {
  /// A file as a plain array of bytes, and where its extents' places have theirs.
  private struct Model {
    var bytes: [UInt8] = []
    var files: [Int: [UInt8]] = [:]
    var versions: [ObjectVersion: [UInt8]] = [:]

    /// The bytes that extents stand for.
    func rendered(_ extents: FileExtents) -> [UInt8] {
      extents.pieces.flatMap { piece -> [UInt8] in
        let range = piece.range.lowerBound..<piece.range.upperBound
        switch piece.place {
        case .hole: return [UInt8](repeating: 0, count: piece.range.count)
        case .staged(let file): return Array(files[file]?[range] ?? [])
        case .stored(let version, let offset):
          return Array(versions[version]?[offset..<offset + piece.range.count] ?? [])
        }
      }
    }

    mutating func replace(_ range: ByteRange, with new: [UInt8]) {
      if range.upperBound > bytes.count {
        bytes += [UInt8](repeating: 0, count: range.upperBound - bytes.count)
      }
      bytes.replaceSubrange(range.lowerBound..<range.upperBound, with: new)
    }

    mutating func resize(to size: Int) {
      if size < bytes.count {
        bytes.removeSubrange(size...)
      } else {
        bytes += [UInt8](repeating: 0, count: size - bytes.count)
      }
    }
  }

  private func version(_ name: String, size: Int) -> ObjectVersion {
    ObjectVersion(
      key: ObjectKey(name),
      etag: ETag(name),
      size: size,
      lastModified: Timestamp(seconds: 1)
    )
  }

  private func check(_ extents: FileExtents, _ model: Model, _ what: String) {
    var end = 0
    for piece in extents.pieces {
      #expect(piece.range.lowerBound == end && !piece.range.isEmpty, "\(what): not tiled")
      end = piece.range.upperBound
    }
    #expect(end == extents.size && end == model.bytes.count, "\(what): size")
    #expect(model.rendered(extents) == model.bytes, "\(what): bytes")
    for (left, right) in zip(extents.pieces, extents.pieces.dropFirst()) {
      let isMerged: Bool
      switch (left.place, right.place) {
      case (.hole, .hole): isMerged = false
      case (.staged(let one), .staged(let other)): isMerged = one != other
      case (.stored(let one, let offset), .stored(let other, let next)):
        isMerged = one != other || offset + left.range.count != next
      default: isMerged = true
      }
      #expect(isMerged, "\(what): \(left) goes on as \(right)")
    }
  }

  @Test(arguments: 0..<60 as Range<UInt64>)
  func extentsStandForTheBytesThatWereWritten(seed: UInt64) {
    var random = Seeded(seed)
    var model = Model()
    let base = version("base", size: Int.random(in: 0...60, using: &random))
    let other = version("other", size: 40)
    for version in [base, other] {
      model.versions[version] = (0..<version.size).map { _ in .random(in: 1...255, using: &random) }
    }
    for file in 1...2 { model.files[file] = [UInt8](repeating: 0, count: 200) }
    model.bytes = model.versions[base] ?? []
    var extents = FileExtents(base)
    var snapshot = (extents, model.bytes)
    for step in 0..<200 {
      let start = Int.random(in: 0...80, using: &random)
      let range = ByteRange(offset: start, count: Int.random(in: 0...30, using: &random))
      switch Int.random(in: 0..<7, using: &random) {
      case 0...2 where !range.isEmpty:
        let file = Int.random(in: 1...2, using: &random)
        let new = (0..<range.count).map { _ in UInt8.random(in: 1...255, using: &random) }
        // A data file's bytes that the other one's stand for now are not read any more.
        model.files[file]?.replaceSubrange(range.lowerBound..<range.upperBound, with: new)
        model.replace(range, with: new)
        extents.write(range, file: file)
        snapshot = (extents, model.bytes)
      case 3:
        extents.resize(to: start)
        model.resize(to: start)
      case 4:
        let inside = range.clamped(to: ByteRange(0, extents.size))
        extents.punch(range)
        if !inside.isEmpty {
          model.replace(inside, with: [UInt8](repeating: 0, count: inside.count))
        }
      case 5 where !range.isEmpty:
        let offset = Int.random(in: 0...(40 - range.count), using: &random)
        extents.insert(other, at: offset, as: range)
        model.replace(
          range,
          with: Array((model.versions[other] ?? [])[offset..<offset + range.count])
        )
      case 6:
        // What was so at the last write is published; what has changed since is not of that object.
        let new = version("published", size: snapshot.0.size)
        model.versions[new] = snapshot.1
        extents = extents.rebased(onto: new, since: snapshot.0)
        check(extents, model, "seed \(seed), step \(step), rebased")
        if snapshot.0 == FileExtents() || extents.size < snapshot.0.size { break }
      default: break
      }
      check(extents, model, "seed \(seed), step \(step)")
      let pieces = extents.pieces(in: range)
      let clamped = range.clamped(to: ByteRange(0, extents.size))
      #expect(pieces.reduce(0) { $0 + $1.range.count } == clamped.count)
      #expect(pieces.first?.range.lowerBound ?? clamped.lowerBound == clamped.lowerBound)
    }
  }

  @Test func aFileThatIsAllOfAVersionIsKnownAsThat() {
    let base = version("base", size: 10)
    var extents = FileExtents(base)
    #expect(extents.isWhole(of: base))
    #expect(extents.wholeVersion == base)
    extents.write(ByteRange(3, 4), file: 1)
    #expect(!extents.isWhole(of: base))
    #expect(extents.dirtyByteCount == 1)
    extents.insert(base, at: 3, as: ByteRange(3, 4))
    #expect(extents.isWhole(of: base))
    extents.resize(to: 9)
    #expect(!extents.isWhole(of: base))
    #expect(extents.wholeVersion == nil)
    let empty = version("empty", size: 0)
    #expect(FileExtents(empty).isWhole(of: empty))
    #expect(!FileExtents().isWhole(of: base))
  }

  @Test func whatWasWrittenSinceIsNotOfThePublishedObject() {
    var extents = FileExtents()
    extents.write(ByteRange(0, 10), file: 1)
    let snapshot = extents
    extents.write(ByteRange(4, 6), file: 2)
    extents.resize(to: 12)
    let object = version("object", size: 10)
    let pieces = extents.rebased(onto: object, since: snapshot).pieces
    #expect(
      pieces == [
        .init(ByteRange(0, 4), .stored(object, at: 0)), .init(ByteRange(4, 6), .staged(file: 2)),
        .init(ByteRange(6, 10), .stored(object, at: 6)), .init(ByteRange(10, 12), .hole),
      ]
    )
  }

  @Test func aRenamedObjectsBytesAreFoundUnderItsNewName() {
    let (old, new) = (version("old", size: 8), version("new", size: 8))
    var extents = FileExtents(old)
    extents.write(ByteRange(2, 3), file: 1)
    #expect(
      extents.renamed(old, to: new).pieces == [
        .init(ByteRange(0, 2), .stored(new, at: 0)), .init(ByteRange(2, 3), .staged(file: 1)),
        .init(ByteRange(3, 8), .stored(new, at: 3)),
      ]
    )
  }
}
