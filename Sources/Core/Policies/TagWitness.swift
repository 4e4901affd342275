/// Whether the tags that a store gives to parts prove that it has the bytes that were sent.
///
/// Most S3 stores give a part's MD5 as its tag. A store that encrypts gives something else of the same
/// looks, so one tag that differs proves nothing. But once a tag has been the MD5 of its part, one that
/// isn't is that of other bytes.
package struct TagWitness: Hashable, Sendable {
  /// True once a tag has been its part's MD5.
  private var isReliable = false
  /// True once a tag has not, before any has.
  private var isDoubtful = false

  /// Creates a witness that nothing is known of.
  package init() {}

  /// Whether computing the MD5 of the next part is worth its time.
  package var isWanted: Bool { isReliable || !isDoubtful }

  /// Compares a part's tag with the MD5 of what was sent, nil if none was computed.
  ///
  /// - Returns: false if the store has other bytes.
  package mutating func accepts(_ tag: ETag, md5: ETag?) -> Bool {
    guard let md5 else { return true }
    if tag == md5 {
      isReliable = true
      return true
    }
    isDoubtful = true
    return !isReliable
  }
}
