package import Core
internal import HTTP
internal import StoreWire
package import Support

extension RemoteStore {
  /// Creates the store of one bucket on this machine's network, as options, environment and
  /// configuration files describe it.
  ///
  /// - Parameters:
  ///   - bucket: the bucket's name.
  ///   - dialect: the protocol that is spoken.
  ///   - options: what the command line says.
  ///   - environment: this process's variables.
  ///   - userAgent: what the client calls itself.
  ///   - connectionCountMax: how many connections there may be.
  ///   - rateMax: bytes per second for all requests together; nil is no limit.
  ///   - metrics: where requests and bytes are counted.
  ///   - log: where requests leave a line at debug level.
  /// - Returns: the store; nothing has been sent.
  /// - Throws: `.invalidRequest` with a sentence, if something in them can't be used.
  package static func system(
    bucket: String,
    dialect: StoreDialect,
    options: StoreOptions,
    environment: [String: String],
    userAgent: String,
    connectionCountMax: Int,
    rateMax: Int?,
    metrics: Metrics,
    log: Log
  ) async throws(StoreError) -> RemoteStore {
    var configuration = CurlClient.Configuration()
    configuration.userAgent = userAgent
    configuration.connectionCountMax = connectionCountMax
    configuration.hostConnectionCountMax = connectionCountMax
    configuration.rateMax = rateMax
    // Source: AWS SDKs and Tools Reference Guide, "General configuration" (AWS_CA_BUNDLE);
    // curl(1), "ENVIRONMENT"; OpenSSL's SSL_CERT_FILE.
    configuration.certificateAuthorityFile =
      ["AWS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"].lazy
      .compactMap { environment[$0] }.first { !$0.isEmpty }
    let client: CurlClient
    do throws(HTTPError) {
      client = try CurlClient(configuration)
    } catch {
      throw StoreError(.unreachable, .headBucket, message: error.message)
    }
    return try await configured(
      bucket: bucket,
      dialect: dialect,
      options: options,
      environment: environment,
      surroundings: Surroundings(client: client, metrics: metrics, log: log)
    )
  }

  /// The bucket's name and, unless the name alone is unique, the endpoint: what tells it from every
  /// other bucket.
  package var location: String {
    "\(name) at \(dialect.place(of: session.withLock { $0.endpoint }))"
  }
}
