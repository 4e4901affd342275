internal import Core
internal import StoreWire

/// What a store has learned since it began: where its bucket lives and what the server's clock says.
struct StoreSession: Sendable {
  /// Where requests go.
  private(set) var endpoint: Endpoint
  /// The region that signatures name.
  private(set) var region: String
  /// What the store can do, as far as it is known.
  var capabilities = StoreCapabilities()
  /// The checksum that goes along with what is written; nil is none.
  var checksum: ChecksumKind?
  /// What to add to this machine's clock to have the store's.
  private(set) var clockOffset: Duration = .zero

  /// The date of the last answer as it was written, and this machine's time then.
  var lastDate: (text: String, own: Timestamp)?

  /// How far the store's clock was ahead of this machine's at the last answer, to a second; nil if there was
  /// none.
  var clockLead: Duration? {
    lastDate.flatMap { date in WireDate.http(date.text).map { $0.timeSince(date.own) } }
  }

  /// What the store said of its bucket when it was asked; nil before.
  private(set) var bucket: BucketFacts?

  private let dialect: any WireDialect
  private let followsRegion: Bool

  init(settings: StoreSettings, dialect: any WireDialect) {
    endpoint = settings.endpoint
    region = settings.region
    self.dialect = dialect
    followsRegion = settings.isEndpointOfRegion
    capabilities = dialect.capabilities(of: nil)
    checksum =
      switch settings.checksum {
      case .automatic: dialect.usualChecksum
      case .none: nil
      case .always(let kind): kind
      }
  }

  /// The store said what its bucket is.
  mutating func learned(bucket facts: BucketFacts) {
    guard facts != bucket else { return }
    bucket = facts
    let found = capabilities
    capabilities = dialect.capabilities(of: facts)
    // What was found out by trying stays known: the bucket is the same.
    capabilities.hasNativeRename = capabilities.hasNativeRename ?? found.hasNativeRename
    capabilities.hasConditionalCreate =
      capabilities.hasConditionalCreate ?? found.hasConditionalCreate
    capabilities.hasConditionalReplace =
      capabilities.hasConditionalReplace ?? found.hasConditionalReplace
    capabilities.listsInByteOrder = capabilities.listsInByteOrder ?? found.listsInByteOrder
  }

  /// The bucket answered from, or named, another region.
  ///
  /// - Returns: false if that can't be a region's name; then nothing changed.
  mutating func learned(region: String) -> Bool {
    guard Self.isRegion(region) else { return false }
    if followsRegion {
      guard let moved = dialect.endpoint(endpoint, in: region) else { return false }
      endpoint = moved
    }
    self.region = region
    return true
  }

  /// An answer named the store's time; it was ours at the moment `own`.
  ///
  /// - Returns: true if that is news: many requests are refused together.
  mutating func learned(storeTime: Timestamp, own: Timestamp) -> Bool {
    let (offset, overflow) =
      storeTime.nanoseconds.subtractingReportingOverflow(own.nanoseconds)
    // A date that far off is no clock's.
    guard !overflow else { return false }
    let change = Duration.nanoseconds(offset) - clockOffset
    clockOffset = .nanoseconds(offset)
    return change.wholeNanoseconds.magnitude > 5_000_000_000
  }

  /// Returns the store's time when this machine's clock says `own`.
  func storeTime(_ own: Timestamp) -> Timestamp {
    let (time, overflow) =
      own.nanoseconds.addingReportingOverflow(clockOffset.wholeNanoseconds)
    return overflow ? own : Timestamp(nanoseconds: time)
  }

  /// Returns true if `name` can be a region's: it comes from outside and becomes part of a host name
  /// and of a header field.
  static func isRegion(_ name: String) -> Bool {
    (1...63).contains(name.utf8.count)
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
          true
        default: false
        }
      }
  }
}
