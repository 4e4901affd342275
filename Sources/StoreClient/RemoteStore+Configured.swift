package import Core

extension RemoteStore {
  /// Creates the store of one bucket as options, environment and configuration files describe it.
  ///
  /// Nothing is sent, and credentials are looked for with the first request.
  ///
  /// - Throws: `.invalidRequest` with a sentence, if something in them can't be used.
  package static func configured(
    bucket: String,
    options: StoreOptions,
    environment: [String: String],
    files: ConfigurationFiles? = nil,
    surroundings: Surroundings
  ) async throws(StoreError) -> RemoteStore {
    let files = files ?? ConfigurationFiles(environment: environment)
    let settings: StoreSettings
    do throws(ConfigurationError) {
      let profile = try await files.profile(
        named: options.profile ?? environment["AWS_PROFILE"].nonEmpty
      )
      settings = try StoreSettings(options: options, environment: environment, profile: profile)
    } catch {
      throw StoreError(.invalidRequest, .headBucket, message: error.description)
    }
    return try RemoteStore(
      bucket: bucket,
      settings: settings,
      credentials: CredentialChain(
        options: options,
        environment: environment,
        files: files,
        region: settings.region,
        services: CredentialServices(surroundings),
        surroundings: CredentialChain.Surroundings(
          time: surroundings.time,
          sleep: surroundings.sleep,
          random: surroundings.random,
          log: surroundings.log
        )
      ),
      surroundings: surroundings
    )
  }
}
