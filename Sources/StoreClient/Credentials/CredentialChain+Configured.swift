internal import Core
internal import StoreWire

extension CredentialChain {
  /// The chain of the command line: whom the options, the environment and the machine name.
  ///
  /// A profile named by `--profile` comes before keys in the environment and nothing after it, as in
  /// the AWS command line: it is the more deliberate of the two.
  ///
  /// - Parameters:
  ///   - options: what the command line says.
  ///   - environment: this process's variables.
  ///   - files: the shared configuration files.
  ///   - region: where STS is asked, unless an endpoint is configured.
  ///   - services: what programs and services are asked with; without them only keys that stand
  ///     somewhere are found.
  ///   - surroundings: the clock and the dice.
  package convenience init(
    options: StoreOptions,
    environment: [String: String],
    files: ConfigurationFiles,
    region: String = StoreSettings.regionDefault,
    services: CredentialServices? = nil,
    surroundings: Surroundings = Surroundings()
  ) {
    if options.isAnonymous {
      self.init([AnonymousCredentials()], surroundings: surroundings)
      return
    }
    let exchange = TokenExchange.aws(environment, region: region)
    let profile = ProfileCredentials(
      explicitName: options.profile ?? environment["AWS_PROFILE"].nonEmpty,
      files: files,
      exchange: exchange,
      services: services
    )
    var sources: [any CredentialSource] = [profile]
    if options.profile == nil {
      sources.insert(EnvironmentCredentials(environment, spellings: .aws), at: 0)
      if let services {
        sources += [
          WebIdentityCredentials(environment, exchange: exchange, services: services),
          ContainerCredentials(environment, services: services),
          InstanceCredentials(environment, services: services),
        ]
      }
    }
    self.init(sources, surroundings: surroundings)
  }
}
