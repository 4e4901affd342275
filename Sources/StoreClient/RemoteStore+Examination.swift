package import Core
internal import HTTP
internal import StoreWire
internal import Support

extension RemoteStore {
  /// Where requests go, as far as it is known by now.
  package struct Whereabouts: Hashable, Sendable {
    /// The endpoint's address.
    package var endpoint: String
    /// True if the way there is TLS.
    package var isEncrypted: Bool
    /// The region that signatures name.
    package var region: String
    /// How far the store's clock was ahead of this machine's at the last answer, to a second; nil if
    /// there was none.
    package var clockLead: Duration?
  }

  /// Where requests go now.
  package var whereabouts: Whereabouts {
    session.withLock { session in
      Whereabouts(
        endpoint: session.endpoint.description,
        isEncrypted: session.endpoint.scheme == .https,
        region: session.region,
        clockLead: session.clockLead
      )
    }
  }

  package func storeTime(at own: Timestamp) -> Timestamp {
    session.withLock { $0.clockLead }.map { own.advanced(by: $0) } ?? own
  }

  /// Where the credentials come from, whose access key it is, and when they end; nothing is sent to the
  /// store.
  package func credentialOrigin(
    by deadline: Instant
  ) async throws(ConfigurationError) -> CredentialOrigin {
    try await credentials.origin(by: deadline)
  }

  /// The versions of the libraries that requests are sent with.
  package static var libraryVersion: String { CurlClient.libraryVersion }
}
