package import Core

/// What `dipper map --json` prints: where the bytes of one file are.
package struct CacheMapReport: Codable, Hashable, Sendable {
  /// The version of this format.
  package var version = 1
  /// The file's path as it was given; nil on the control socket.
  package var path: String?
  /// The object's key.
  package var key: String
  /// The object's size in bytes.
  package var size: Int
  /// Bytes on the disk.
  package var cachedBytes: Int
  /// Bytes on their way and not there yet.
  package var inFlightBytes: Int
  /// Bytes that the store doesn't have yet.
  package var dirtyBytes: Int
  /// All other bytes.
  package var absentBytes: Int
  /// What a part is: the mount's largest request.
  package var partBytes: Int
  /// How many parts are wholly on the disk.
  package var partsCached: Int
  /// How many parts there are.
  package var partsTotal: Int
  /// What is where, in order and without a gap.
  package var ranges: [Range]

  /// Where bytes are.
  package enum State: String, Codable, Hashable, Sendable, CaseIterable {
    /// On the disk.
    case cached
    /// On their way.
    case inFlight = "in_flight"
    /// Written here, and not at the store.
    case dirty
    /// At the store only.
    case absent
  }

  /// A stretch of the file of which all bytes are in the same place.
  package struct Range: Codable, Hashable, Sendable {
    /// Where it begins.
    package var offset: Int
    /// How long it is.
    package var length: Int
    /// Where its bytes are.
    package var state: State

    /// Creates a range.
    package init(offset: Int, length: Int, state: State) {
      self.offset = offset
      self.length = length
      self.state = state
    }
  }

  /// Creates the report of a map.
  ///
  /// - Parameters:
  ///   - map: what the cache knows.
  ///   - dirty: what was written and is not at the store; it hides what is below it.
  ///   - key: the object's key.
  ///   - partSize: what counts as a part.
  package init(
    _ map: CacheMap,
    dirty: ByteRangeSet = ByteRangeSet(),
    key: String,
    partSize: Int
  ) {
    let size = map.size
    var known = dirty
    var found = dirty.ranges.map { ($0, State.dirty) }
    // What was said first holds: bytes on the disk are there, whatever else is fetched.
    for (set, state) in [(map.cached, State.cached), (map.underWay, State.inFlight)] {
      for range in set.ranges {
        found += known.gaps(in: range.clamped(to: ByteRange(0, size))).map { ($0, state) }
      }
      for range in set.ranges { known.insert(range) }
    }
    found += known.gaps(in: ByteRange(0, size)).map { ($0, .absent) }
    found = found.filter { !$0.0.isEmpty }.sorted { $0.0.lowerBound < $1.0.lowerBound }
    ranges = found.map { Range(offset: $0.lowerBound, length: $0.count, state: $1) }
    func count(_ state: State) -> Int {
      found.reduce(0) { $1.1 == state ? $0 + $1.0.count : $0 }
    }
    self.key = key
    self.size = size
    cachedBytes = count(.cached)
    inFlightBytes = count(.inFlight)
    dirtyBytes = count(.dirty)
    absentBytes = count(.absent)
    partBytes = partSize
    let unit = max(1, partSize)
    partsTotal = size / unit + (size % unit > 0 ? 1 : 0)
    partsCached = (0..<partsTotal).count { index in
      let start = index * unit
      return map.cached.contains(ByteRange(start, start + min(unit, size - start)))
    }
  }

  private enum CodingKeys: String, CodingKey {
    case version
    case path
    case key
    case size
    case cachedBytes = "cached_bytes"
    case inFlightBytes = "in_flight_bytes"
    case dirtyBytes = "dirty_bytes"
    case absentBytes = "absent_bytes"
    case partBytes = "part_bytes"
    case partsCached = "parts_cached"
    case partsTotal = "parts_total"
    case ranges
  }
}
