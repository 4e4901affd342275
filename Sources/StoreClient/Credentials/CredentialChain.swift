internal import Core
internal import StoreWire
internal import Support

/// Asks one place after another for credentials and remembers the first that it finds.
package final class CredentialChain: Sendable {
  private let providers: [any CredentialProvider]
  private let remembered = Lock<Identity?>(nil)

  /// Creates a chain that asks `providers` in order.
  package init(_ providers: [any CredentialProvider]) {
    self.providers = providers
  }

  /// The chain of the command line: who the options and the environment name.
  ///
  /// A profile named by `--profile` comes before keys in the environment, as in the AWS command
  /// line: it is the more deliberate of the two. Places that ask a service (`credential_process`,
  /// web identity, container, instance metadata) go behind these two.
  package convenience init(
    options: StoreOptions,
    environment: [String: String],
    files: ConfigurationFiles
  ) {
    if options.isAnonymous {
      self.init([AnonymousCredentials()])
      return
    }
    let profile = ProfileCredentials(
      explicitName: options.profile ?? environment["AWS_PROFILE"].nonEmpty,
      files: files
    )
    if options.profile != nil {
      self.init([profile])
    } else {
      self.init([EnvironmentCredentials(environment), profile])
    }
  }

  /// Returns the identity in use, looking for it the first time.
  ///
  /// - Throws: `ConfigurationError` with everything that was looked at, if no place has one.
  package func identity() async throws(ConfigurationError) -> Identity {
    if let known = remembered.withLock({ $0 }) { return known }
    for provider in providers {
      guard let found = try await provider.identity() else { continue }
      remembered.withLock { $0 = found }
      return found
    }
    let places = providers.map(\.place).joined(separator: "; ")
    throw ConfigurationError("no credentials found; looked in: \(places)")
  }

  /// Looks again, because the store refused `stale`.
  ///
  /// - Returns: true if there is another identity now, so that trying again makes sense. Of many
  ///   requests that were refused together, the first does the looking.
  package func renew(_ stale: Identity) async -> Bool {
    invalidate(stale)
    // A chain that can't find anything any more leaves the store's own refusal as the answer.
    guard let fresh = try? await identity() else { return false }
    return fresh != stale
  }

  /// Forgets `stale`, if it is what is remembered, so that the next request looks again.
  package func invalidate(_ stale: Identity) {
    remembered.withLock { if $0 == stale { $0 = nil } }
  }
}
