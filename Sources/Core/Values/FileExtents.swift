/// Where each byte of a file that is being written lies: a map from ranges to places that covers the file
/// without a gap.
///
/// Neighbours that go on in the same place are one piece. A value: it decides nothing about disks and
/// stores, which do what it says.
package struct FileExtents: Hashable, Sendable {
  /// Where the bytes of a range are.
  package enum Place: Hashable, Sendable {
    /// In the draft's own data file of this number, at their own offsets.
    case staged(file: Int)
    /// Nowhere: they are zeros.
    case hole
    /// In a version of an object, from this offset on.
    case stored(ObjectVersion, at: Int)
  }

  /// A range and where its bytes are.
  package struct Piece: Hashable, Sendable {
    /// The bytes in the file.
    package let range: ByteRange
    /// Where they are.
    package let place: Place

    /// Creates a piece.
    package init(_ range: ByteRange, _ place: Place) {
      self.range = range
      self.place = place
    }

    /// The part of it that is in `range`.
    func clamped(to range: ByteRange) -> Piece {
      let kept = self.range.clamped(to: range)
      return Piece(kept, place.advanced(by: kept.lowerBound - self.range.lowerBound))
    }

    /// True if `next`, which begins where this ends, goes on in the same place.
    fileprivate func isContinued(by next: Piece) -> Bool {
      place.advanced(by: range.count) == next.place
    }
  }

  // Invariant: they tile 0 ..< size, none is empty, and none is continued by the next.
  /// The pieces, in order.
  package private(set) var pieces: [Piece] = []

  /// Creates an empty file.
  package init() {}

  /// Creates a file that is an object's version.
  package init(_ version: ObjectVersion) {
    if version.size > 0 { pieces = [Piece(ByteRange(0, version.size), .stored(version, at: 0))] }
  }

  /// The file's bytes.
  package var size: Int { pieces.last?.range.upperBound ?? 0 }

  /// Bytes that are in no store.
  package var dirtyByteCount: Int { pieces.reduce(0) { $0 + ($1.isStaged ? $1.range.count : 0) } }

  /// Returns the pieces of `range`, clamped to it and to the file.
  package func pieces(in range: ByteRange) -> [Piece] {
    let range = range.clamped(to: ByteRange(0, size))
    guard !range.isEmpty else { return [] }
    let first = index(of: range.lowerBound)
    var found: [Piece] = []
    for piece in pieces[first...] {
      guard piece.range.lowerBound < range.upperBound else { break }
      found.append(piece.clamped(to: range))
    }
    return found
  }

  /// Returns true if the file is just what `version` is, from its first byte to its last.
  package func isWhole(of version: ObjectVersion) -> Bool {
    guard let whole = wholeVersion else { return version.size == 0 && pieces.isEmpty }
    return whole.isSameContent(as: version)
  }

  /// The one version that the file is all of; nil if there is none, or the file is empty.
  package var wholeVersion: ObjectVersion? {
    guard pieces.count == 1, case .stored(let version, at: 0) = pieces[0].place,
      version.size == size
    else { return nil }
    return version
  }

  /// The bytes of `range` have been written into data file `file`; what lies between the file's end
  /// and them is a hole.
  package mutating func write(_ range: ByteRange, file: Int) {
    put(range, .staged(file: file))
  }

  /// The bytes of `range` are those of `version` from `offset` on.
  ///
  /// - Precondition: they lie inside the version.
  package mutating func insert(_ version: ObjectVersion, at offset: Int, as range: ByteRange) {
    precondition(
      ByteRange(0, version.size).contains(ByteRange(offset: offset, count: range.count)),
      "bytes that the object doesn't have"
    )
    put(range, .stored(version, at: offset))
  }

  /// The bytes of `range` are zeros; the file's size stays.
  package mutating func punch(_ range: ByteRange) {
    put(range.clamped(to: ByteRange(0, size)), .hole)
  }

  /// The file has `size` bytes: those behind are gone, new ones are zeros.
  package mutating func resize(to size: Int) {
    precondition(size >= 0, "a file can't have \(size) bytes")
    if size > self.size {
      put(ByteRange(self.size, size), .hole)
    } else if size < self.size {
      let last = size == 0 ? 0 : index(of: size - 1) + 1
      pieces.removeSubrange(last...)
      if let piece = pieces.popLast() {
        pieces.append(piece.clamped(to: ByteRange(0, size)))
      }
    }
  }

  /// The file as it is after what it was at `snapshot` has become `version`: what has not changed since is
  /// the version's.
  package func rebased(onto version: ObjectVersion, since snapshot: FileExtents) -> FileExtents {
    var result = self
    for piece in pieces {
      for old in snapshot.pieces(in: piece.range) where old == piece.clamped(to: old.range) {
        guard old.range.upperBound <= version.size else { continue }
        result.insert(version, at: old.range.lowerBound, as: old.range)
      }
    }
    return result
  }

  /// The file after the store has given an object another name: what was of the one is of the other.
  package func renamed(_ old: ObjectVersion, to new: ObjectVersion) -> FileExtents {
    var result = self
    for piece in pieces {
      guard case .stored(let version, let offset) = piece.place, version.isSameContent(as: old),
        offset + piece.range.count <= new.size
      else { continue }
      result.insert(new, at: offset, as: piece.range)
    }
    return result
  }

  /// Puts `range` in a place of its own.
  private mutating func put(_ range: ByteRange, _ place: Place) {
    guard !range.isEmpty else { return }
    if range.lowerBound > size { put(ByteRange(size, range.lowerBound), .hole) }
    let new = Piece(range, place)
    // What is written in order only moves the end of the last piece.
    if range.lowerBound == size {
      append(new)
      return
    }
    let first = index(of: range.lowerBound)
    var end = first
    while end < pieces.count, pieces[end].range.lowerBound < range.upperBound { end += 1 }
    let (head, tail) = (pieces[first], pieces[end - 1])
    var middle: [Piece] = []
    func add(_ piece: Piece) {
      guard let last = middle.last, last.isContinued(by: piece) else {
        middle.append(piece)
        return
      }
      middle[middle.count - 1] = Piece(
        ByteRange(last.range.lowerBound, piece.range.upperBound),
        last.place
      )
    }
    let before = first > 0 ? first - 1 : first
    let after = end < pieces.count ? end + 1 : end
    if before < first { add(pieces[before]) }
    if head.range.lowerBound < range.lowerBound {
      add(head.clamped(to: ByteRange(head.range.lowerBound, range.lowerBound)))
    }
    add(new)
    if range.upperBound < tail.range.upperBound {
      add(tail.clamped(to: ByteRange(range.upperBound, tail.range.upperBound)))
    }
    if end < after { add(pieces[end]) }
    pieces.replaceSubrange(before..<after, with: middle)
  }

  private mutating func append(_ piece: Piece) {
    if let last = pieces.last, last.isContinued(by: piece) {
      pieces[pieces.count - 1] = Piece(
        ByteRange(last.range.lowerBound, piece.range.upperBound),
        last.place
      )
    } else {
      pieces.append(piece)
    }
  }

  /// The index of the piece that holds the byte at `offset`, which is inside the file.
  private func index(of offset: Int) -> Int {
    var low = 0
    var high = pieces.count
    while low < high {
      let middle = (low + high) / 2
      if pieces[middle].range.upperBound > offset { high = middle } else { low = middle + 1 }
    }
    return low
  }
}

extension FileExtents.Piece {
  /// Its bytes are in a data file of the draft.
  package var isStaged: Bool {
    if case .staged = place { true } else { false }
  }
}

extension FileExtents.Place {
  /// Where the bytes are that lie `count` bytes behind.
  fileprivate func advanced(by count: Int) -> FileExtents.Place {
    guard case .stored(let version, let offset) = self else { return self }
    return .stored(version, at: offset + count)
  }
}
