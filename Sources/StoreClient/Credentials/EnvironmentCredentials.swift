package import Core
internal import StoreWire

/// Keys in environment variables, under one of the names that tools give them.
package struct EnvironmentCredentials: CredentialSource {
  /// The variables in which one tool, or one family of tools, has a pair of keys.
  struct Spelling: Hashable, Sendable, CustomStringConvertible {
    let accessKeyID: String
    let secretAccessKey: String
    let sessionToken: String
    /// Where the end of temporary keys stands; nil if the tool has no variable for it.
    var expiration: String?

    /// The two that must be there.
    var description: String { "\(accessKeyID), \(secretAccessKey)" }
  }

  /// What the environment has under one spelling.
  private struct Candidate {
    let spelling: Spelling
    let fields: CredentialFields
  }

  private let candidates: [Candidate]

  /// Creates a source that reads `environment`; of several spellings the first with keys counts.
  init(_ environment: [String: String], spellings: [Spelling]) {
    candidates = spellings.map { spelling in
      Candidate(
        spelling: spelling,
        fields: CredentialFields(
          accessKeyID: environment[spelling.accessKeyID],
          secretAccessKey: environment[spelling.secretAccessKey],
          sessionToken: environment[spelling.sessionToken],
          expiration: spelling.expiration.flatMap { environment[$0] }
        )
      )
    }
  }

  package var place: String {
    "the environment (\(candidates.map(\.spelling.description).joined(separator: "; ")))"
  }

  package var remedy: String { "set new ones and start again: a program's environment stays" }

  package func look(by deadline: Instant) throws(ConfigurationError) -> CredentialFinding {
    for candidate in candidates {
      let keys = try candidate.fields.credentials(
        idName: candidate.spelling.accessKeyID,
        secretName: candidate.spelling.secretAccessKey,
        place: "the environment"
      )
      if let keys {
        return .found(.keys(keys), at: "the environment (\(candidate.spelling))")
      }
    }
    return .nothing
  }
}

extension EnvironmentCredentials: CustomStringConvertible, CustomReflectable {
  /// The place, not the keys.
  package var description: String { place }

  /// Nothing.
  package var customMirror: Mirror { Mirror(self, children: []) }
}

extension [EnvironmentCredentials.Spelling] {
  /// The variables of AWS.
  static let aws = [
    EnvironmentCredentials.Spelling(
      accessKeyID: "AWS_ACCESS_KEY_ID",
      secretAccessKey: "AWS_SECRET_ACCESS_KEY",
      sessionToken: "AWS_SESSION_TOKEN",
      // Written by `aws configure export-credentials`.
      expiration: "AWS_CREDENTIAL_EXPIRATION"
    )
  ]

  /// The variables of TOS and of Volcengine.
  ///
  /// Source: the environment providers of TOS's SDKs for Python and Go (first row), Hadoop-TOS
  /// (second), Volcengine's SDKs and command line (third), Apache OpenDAL (fourth).
  static let tos = [
    EnvironmentCredentials.Spelling(
      accessKeyID: "TOS_ACCESS_KEY",
      secretAccessKey: "TOS_SECRET_KEY",
      sessionToken: "TOS_SECURITY_TOKEN"
    ),
    EnvironmentCredentials.Spelling(
      accessKeyID: "TOS_ACCESS_KEY_ID",
      secretAccessKey: "TOS_SECRET_ACCESS_KEY",
      sessionToken: "TOS_SESSION_TOKEN"
    ),
    EnvironmentCredentials.Spelling(
      accessKeyID: "VOLCENGINE_ACCESS_KEY",
      secretAccessKey: "VOLCENGINE_SECRET_KEY",
      sessionToken: "VOLCENGINE_SESSION_TOKEN"
    ),
    EnvironmentCredentials.Spelling(
      accessKeyID: "VOLCENGINE_ACCESS_KEY_ID",
      secretAccessKey: "VOLCENGINE_SECRET_ACCESS_KEY",
      sessionToken: "VOLCENGINE_SESSION_TOKEN"
    ),
  ]
}
