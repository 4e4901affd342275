internal import StoreWire

/// Keys that a program has from somewhere of its own, such as a security token service.
///
/// They go into signatures and nowhere else: no checkpoint, no log and no description has the secret or
/// the token. A transfer that was begun with some is gone on with by others: open the bucket anew.
public struct BucketCredentials: Hashable, Sendable {
  /// The public half.
  public let accessKey: String
  let core: Credentials

  /// Creates credentials.
  ///
  /// - Parameters:
  ///   - accessKey: the public half.
  ///   - secretKey: the secret half.
  ///   - securityToken: what belongs to temporary keys; nil for lasting ones.
  public init(accessKey: String, secretKey: String, securityToken: String? = nil) {
    self.accessKey = accessKey
    core = Credentials(accessKey: accessKey, secretKey: secretKey, sessionToken: securityToken)
  }
}

extension BucketCredentials: CustomStringConvertible, CustomReflectable {
  /// The access key and no more.
  public var description: String { "credentials of \(accessKey)" }

  /// What a debugger or `dump` sees: the access key and no more.
  public var customMirror: Mirror {
    Mirror(self, children: ["accessKey": accessKey], displayStyle: .struct)
  }
}
