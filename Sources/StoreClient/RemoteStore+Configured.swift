package import Core
internal import StoreWire

extension RemoteStore {
  /// Creates the store of one bucket as options, environment and configuration files describe it.
  ///
  /// Nothing is sent, and credentials are looked for with the first request.
  ///
  /// - Parameters:
  ///   - bucket: the bucket's name.
  ///   - dialect: the protocol that is spoken; it decides which variables and files count.
  ///   - options: what the command line says.
  ///   - environment: this process's variables.
  ///   - reader: the disk.
  ///   - surroundings: the network, the clocks, the log.
  /// - Returns: the store.
  /// - Throws: `.invalidRequest` with a sentence, if something in them can't be used.
  package static func configured(
    bucket: String,
    dialect: StoreDialect,
    options: StoreOptions,
    environment: [String: String],
    reader: any FileReader = DiskFileReader(),
    surroundings: Surroundings
  ) async throws(StoreError) -> RemoteStore {
    let configuration = Configuration(
      bucket: bucket,
      options: options,
      environment: environment,
      reader: reader,
      services: CredentialServices(surroundings, files: reader),
      surroundings: CredentialChain.Surroundings(
        time: surroundings.time,
        sleep: surroundings.sleep,
        random: surroundings.random,
        log: surroundings.log
      )
    )
    var (settings, credentials): (StoreSettings, CredentialChain)
    do throws(ConfigurationError) {
      (settings, credentials) =
        switch dialect {
        case .s3: try await configuration.s3()
        case .tos: try await configuration.tos()
        }
    } catch {
      throw StoreError(.invalidRequest, .headBucket, message: error.description)
    }
    settings.protection = options.protection
    settings.checksum = options.checksum
    return try RemoteStore(
      bucket: bucket,
      settings: settings,
      credentials: options.credentials.map { CredentialChain([FixedCredentials($0)]) }
        ?? credentials,
      surroundings: surroundings
    )
  }
}

/// What is known before any file was read.
private struct Configuration {
  let bucket: String
  let options: StoreOptions
  let environment: [String: String]
  let reader: any FileReader
  let services: CredentialServices
  let surroundings: CredentialChain.Surroundings

  func s3() async throws(ConfigurationError) -> (StoreSettings, CredentialChain) {
    let files = ConfigurationFiles(environment: environment, reader: reader)
    let profile = try await files.profile(
      named: options.profile ?? environment["AWS_PROFILE"].nonEmpty
    )
    let settings = try StoreSettings(
      options: options,
      environment: environment,
      profile: profile
    )
    let credentials = CredentialChain(
      options: options,
      environment: environment,
      files: files,
      region: settings.region,
      services: services,
      surroundings: surroundings
    )
    return (settings, credentials)
  }

  func tos() async throws(ConfigurationError) -> (StoreSettings, CredentialChain) {
    guard BucketName.isValidAtTOS(bucket) else {
      throw ConfigurationError(
        "\"\(bucket.utf8.printable)\" can't be the name of a TOS bucket: 3 to 63 lower-case letters, "
          + "digits and hyphens, with no hyphen at either end"
      )
    }
    let files = TOSConfigurationFiles(
      environment: environment,
      profile: options.profile,
      reader: reader
    )
    let settings = try await StoreSettings(
      tos: options,
      environment: environment,
      files: files,
      bucket: bucket
    )
    let credentials = CredentialChain(
      options: options,
      environment: environment,
      files: files,
      services: services,
      surroundings: surroundings
    )
    return (settings, credentials)
  }
}
