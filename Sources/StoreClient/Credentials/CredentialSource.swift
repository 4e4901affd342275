package import Core
package import StoreWire

/// As whom requests are sent.
package enum Identity: Hashable, Sendable {
  /// As nobody: requests go unsigned.
  case anonymous
  /// Signed with these keys.
  case keys(Credentials)

  /// The keys, if there are any.
  package var credentials: Credentials? {
    switch self {
    case .anonymous: nil
    case .keys(let credentials): credentials
    }
  }
}

/// One place where credentials may be: the environment, a file, a program, a service.
///
/// A source keeps nothing: it looks each time it is asked, and the chain remembers. That is what
/// makes a rotated key or a new token file take effect without a restart.
package protocol CredentialSource: Sendable {
  /// Where it looks, as the tail of "looked in ...".
  var place: String { get }
  /// What a person can do when what it gave has ended.
  var remedy: String { get }

  /// Looks.
  ///
  /// - Parameter deadline: when to give up; a source may have a shorter limit of its own.
  /// - Returns: what the place has; without credentials in it, the next place is asked.
  /// - Throws: `ConfigurationError` if the place has something that can't be used. The chain stops
  ///   there: falling through to other credentials would act as somebody the user didn't mean.
  func look(by deadline: Instant) async throws(ConfigurationError) -> CredentialFinding
}

/// What one look at one place came to.
package struct CredentialFinding: Hashable, Sendable {
  /// Who asks; nil if the place has no credentials, so that the next one is asked.
  package let identity: Identity?
  /// What a person should know of the place: that what it has counts as nothing, and why, or that
  /// others can read it; a sentence without a secret in it.
  package let remark: String?
  /// Where exactly, if the source looks in several places.
  package let place: String?

  private init(_ identity: Identity?, _ place: String?, _ remark: String?) {
    self.identity = identity
    self.place = place
    self.remark = remark
  }

  /// The place has no credentials.
  package static let nothing = CredentialFinding(nil, nil, nil)

  /// The place says who asks.
  package static func found(
    _ identity: Identity,
    at place: String? = nil,
    remark: String? = nil
  ) -> CredentialFinding {
    CredentialFinding(identity, place, remark)
  }

  /// The place has something that is not meant as credentials, such as a placeholder, or that only its
  /// own program can read: it counts as nothing, and the remark says why.
  package static func passedOver(_ remark: String) -> CredentialFinding {
    CredentialFinding(nil, nil, remark)
  }
}

/// Nobody: what `--anonymous` asks for.
package struct AnonymousCredentials: CredentialSource {
  /// Creates it.
  package init() {}

  package var place: String { "nowhere, as asked" }
  package var remedy: String { "leave out --anonymous" }

  package func look(by deadline: Instant) -> CredentialFinding { .found(.anonymous) }
}

/// Keys that are already known, for a program that has them and for tests.
package struct FixedCredentials: CredentialSource {
  private let credentials: Credentials

  /// Creates a source of `credentials`.
  package init(_ credentials: Credentials) {
    self.credentials = credentials
  }

  package var place: String { "the program itself" }
  package var remedy: String { "start it again with others" }

  package func look(by deadline: Instant) -> CredentialFinding { .found(.keys(credentials)) }
}

/// A key id, a secret and a token as some place spells them; decides whether they are a pair.
struct CredentialFields {
  var accessKeyID: String?
  var secretAccessKey: String?
  var sessionToken: String?
  /// When they end, as it is written.
  var expiration: String?

  /// Returns the keys, or nil if neither half is there.
  ///
  /// An empty value counts as absent: `export AWS_ACCESS_KEY_ID=` is how a shell script unsets one.
  func credentials(
    idName: String,
    secretName: String,
    place: String
  ) throws(ConfigurationError) -> Credentials? {
    switch (accessKeyID.nonEmpty, secretAccessKey.nonEmpty) {
    case (nil, nil):
      return nil
    case (_?, nil):
      throw ConfigurationError("\(place) has \(idName) but not \(secretName)")
    case (nil, _?):
      throw ConfigurationError("\(place) has \(secretName) but not \(idName)")
    case (let id?, let secret?):
      // What goes into a header must not be able to end it.
      guard id.isVisibleASCII, sessionToken.nonEmpty?.isVisibleASCII != false else {
        throw ConfigurationError(
          "\(idName) or the session token in \(place) has a space or a control character in it"
        )
      }
      var expiry: Timestamp?
      if let expiration = expiration.nonEmpty {
        guard let moment = WireDate.iso8601(expiration) else {
          throw ConfigurationError("\(place) has an expiration that isn't a date")
        }
        expiry = moment
      }
      return Credentials(
        accessKey: id,
        secretKey: secret,
        sessionToken: sessionToken.nonEmpty,
        expiry: expiry
      )
    }
  }
}

extension CredentialFields: CustomStringConvertible, CustomReflectable {
  /// Nothing of the fields: whatever prints a source must not print them.
  var description: String { "credentials" }

  var customMirror: Mirror { Mirror(self, children: []) }
}

extension String? {
  /// The text, or nil if there is none in it.
  var nonEmpty: String? {
    guard let self, !self.isEmpty else { return nil }
    return self
  }
}

extension String {
  /// The text without white space at its ends.
  var trimmed: String {
    guard let last = lastIndex(where: { !$0.isWhitespace }) else { return "" }
    return String(self[...last].drop(while: \.isWhitespace))
  }

  /// True if every byte is a printable ASCII character other than the space.
  var isVisibleASCII: Bool { utf8.allSatisfy { (0x21...0x7e).contains($0) } }
}
