/// Keys in environment variables.
package struct EnvironmentCredentials: CredentialProvider {
  private let fields: CredentialFields

  /// Creates a provider that reads `environment`.
  package init(_ environment: [String: String]) {
    fields = CredentialFields(
      accessKeyID: environment["AWS_ACCESS_KEY_ID"],
      secretAccessKey: environment["AWS_SECRET_ACCESS_KEY"],
      sessionToken: environment["AWS_SESSION_TOKEN"]
    )
  }

  package var place: String { "the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)" }

  package func identity() throws(ConfigurationError) -> Identity? {
    try fields.credentials(
      idName: "AWS_ACCESS_KEY_ID",
      secretName: "AWS_SECRET_ACCESS_KEY",
      place: "the environment"
    ).map { .keys($0) }
  }
}
