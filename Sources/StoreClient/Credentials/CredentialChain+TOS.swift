internal import Core
internal import StoreWire

extension CredentialChain {
  /// The chain of the command line for TOS: whom the options, the environment, the files of the
  /// vendor's tools and the machine name.
  ///
  /// A profile named by `--profile` comes before keys in the environment and nothing after it, as for
  /// S3.
  ///
  /// - Parameters:
  ///   - options: what the command line says.
  ///   - environment: this process's variables.
  ///   - files: the files of the vendor's tools.
  ///   - services: what services are asked with; without them only keys that stand somewhere are
  ///     found.
  ///   - surroundings: the clock and the dice.
  package convenience init(
    options: StoreOptions,
    environment: [String: String],
    files: TOSConfigurationFiles,
    services: CredentialServices? = nil,
    surroundings: Surroundings = Surroundings()
  ) {
    if options.isAnonymous {
      self.init([AnonymousCredentials()], surroundings: surroundings)
      return
    }
    let exchange = TokenExchange.volcengine(environment)
    let profile = TOSFileCredentials(tool: .commandLine, files: files)
    let shared = VolcengineProfileCredentials(
      files: files,
      environment: environment,
      exchange: exchange,
      services: services
    )
    guard options.profile == nil else {
      self.init([profile, shared], surroundings: surroundings)
      return
    }
    var sources: [any CredentialSource] = [
      EnvironmentCredentials(environment, spellings: .tos),
      profile,
      TOSFileCredentials(tool: .utility, files: files),
      shared,
    ]
    if let services {
      sources += [
        WebIdentityCredentials(environment, exchange: exchange, services: services),
        VolcengineInstanceCredentials(environment, services: services),
      ]
    }
    self.init(sources, surroundings: surroundings)
  }
}
