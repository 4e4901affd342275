package import Core

/// Who asks: an access key and its secret, for a while or for good.
///
/// Whatever prints the value, a log, an error, a debugger's mirror, shows the access key only:
/// clause O5 of docs/semantics.md.
package struct Credentials: Hashable, Sendable {
  /// The public half.
  package let accessKey: String
  /// The secret half; it goes into signatures and nowhere else.
  package let secretKey: String
  /// The token that belongs to temporary keys.
  package let sessionToken: String?
  /// When they end; nil if they don't, or if nobody said.
  package let expiry: Timestamp?

  /// Creates credentials.
  package init(
    accessKey: String,
    secretKey: String,
    sessionToken: String? = nil,
    expiry: Timestamp? = nil
  ) {
    self.accessKey = accessKey
    self.secretKey = secretKey
    self.sessionToken = sessionToken
    self.expiry = expiry
  }

  /// Returns true if they end within `margin` of `time`.
  package func expires(within margin: Duration, of time: Timestamp) -> Bool {
    guard let expiry else { return false }
    let (limit, overflow) = time.nanoseconds.addingReportingOverflow(margin.wholeNanoseconds)
    return expiry.nanoseconds <= (overflow ? .max : limit)
  }
}

extension Credentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The access key and no more.
  package var description: String { "credentials of \(accessKey)" }

  /// The access key and no more.
  package var debugDescription: String { description }

  /// What a debugger or `dump` sees: the access key and no more.
  package var customMirror: Mirror {
    Mirror(self, children: ["accessKey": accessKey], displayStyle: .struct)
  }
}
