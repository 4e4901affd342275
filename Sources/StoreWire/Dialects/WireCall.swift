package import Core

/// One operation as a protocol speaks it: what to send, and what the answer to it means.
package struct WireCall<Answer: Sendable>: Sendable {
  /// What to send.
  package var request: WireRequest
  /// Makes the answer a value, or throws what it means instead.
  package var read: @Sendable (WireAnswer) throws(StoreError) -> Answer

  /// Creates a call.
  package init(
    _ request: WireRequest,
    read: @escaping @Sendable (WireAnswer) throws(StoreError) -> Answer
  ) {
    self.request = request
    self.read = read
  }
}

/// What a store says of its bucket when it is first asked.
package struct BucketFacts: Hashable, Sendable {
  /// The region that the bucket is in, if the store says.
  package var region: String?
  /// True if directories exist by themselves there, false if keys are flat.
  package var isHierarchical: Bool

  /// Creates facts.
  package init(region: String? = nil, isHierarchical: Bool = false) {
    self.region = region
    self.isHierarchical = isHierarchical
  }
}

/// What a store says of an upload part that it has just taken.
package struct PartAnswer: Hashable, Sendable {
  /// The part's tag.
  package var etag: ETag
  /// CRC-64/XZ of its bytes, where the store tells it (TOS).
  package var crc64: UInt64?

  /// Creates an answer.
  package init(etag: ETag, crc64: UInt64? = nil) {
    self.etag = etag
    self.crc64 = crc64
  }
}
