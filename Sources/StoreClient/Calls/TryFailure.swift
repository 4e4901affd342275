internal import Core

/// Why one try of a call failed, and what the answer says that could help the next one.
struct TryFailure: Error, Sendable {
  /// The failure.
  var error: StoreError
  /// What to put right before the next try; nil if that is known to be no help.
  var correction: Correction?
  /// True if another try makes no sense whatever the kind.
  var isFinal = false
  /// True if the store may have done what was asked although nobody heard of it.
  var mayHaveHappened = false
  /// How long the store had said nothing, and taken nothing, when the try was given up.
  var silence = Duration.zero

  init(_ error: StoreError, correction: Correction? = nil, mayHaveHappened: Bool = false) {
    self.error = error
    self.correction = correction
    self.mayHaveHappened = mayHaveHappened
  }
}
