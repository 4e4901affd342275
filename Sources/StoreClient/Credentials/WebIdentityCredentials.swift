internal import Core
internal import HTTP
internal import StoreWire

/// Credentials for a token that says who this is: a role taken on through a security token service,
/// without a signature.
struct WebIdentityCredentials: CredentialSource {
  /// What has to be known of a role.
  struct Role: Sendable {
    /// Its ARN, or at Volcengine its TRN.
    var name: String
    var tokenFile: String
    var sessionName: String
    /// A policy that narrows what the role may do, as JSON.
    var policy: String?
    /// The variables or the profile that said so.
    var owner: String
  }

  /// The role; nil if the environment names none, a failure if it names half of one.
  private let role: Result<Role?, ConfigurationError>
  private let exchange: TokenExchange
  private let services: CredentialServices

  init(role: Role, exchange: TokenExchange, services: CredentialServices) {
    self.role = .success(role)
    self.exchange = exchange
    self.services = services
  }

  /// Creates the source of the role that the environment names.
  init(_ environment: [String: String], exchange: TokenExchange, services: CredentialServices) {
    role = Self.role(in: environment, exchange.dialect.variables)
    self.exchange = exchange
    self.services = services
  }

  var place: String {
    guard case .success(let role?) = role else {
      let variables = exchange.dialect.variables
      return "web identity (\(variables.role), \(variables.tokenFile))"
    }
    return "web identity of \(role.owner), token file \(role.tokenFile.utf8.printable)"
  }

  var remedy: String { "see that the token file is renewed and the role may still be taken on" }

  private static func role(
    in environment: [String: String],
    _ variables: TokenExchange.Variables
  ) -> Result<Role?, ConfigurationError> {
    guard let tokenFile = environment[variables.tokenFile].nonEmpty else {
      return .success(nil)
    }
    guard let name = environment[variables.role].nonEmpty else {
      return .failure(
        ConfigurationError(
          "the environment has \(variables.tokenFile) but not \(variables.role)"
        )
      )
    }
    return .success(
      Role(
        name: name,
        tokenFile: tokenFile,
        sessionName: environment[variables.sessionName].nonEmpty ?? "dipper",
        policy: variables.policy.flatMap { environment[$0].nonEmpty },
        owner: "the environment"
      )
    )
  }

  func look(by deadline: Instant) async throws(ConfigurationError) -> CredentialFinding {
    guard let role = try role.get() else { return .nothing }
    // Before the token is read: it goes nowhere if the endpoint can't be used.
    let endpoint = try exchange.usableEndpoint()
    let token = try await token(role)
    let answer: WireAnswer
    do throws(HTTPError) {
      answer = try await services.ask(
        exchange.question(at: endpoint, role, token: token),
        by: deadline
      )
    } catch {
      throw ConfigurationError("\(place): STS doesn't answer: \(error.message)")
    }
    do throws(ConfigurationError) {
      return .found(.keys(try exchange.credentials(answer)))
    } catch {
      // An answer might repeat the token.
      let said = error.description.split(separator: token).joined(separator: "***")
      throw ConfigurationError("\(place): \(said)")
    }
  }

  private func token(_ role: Role) async throws(ConfigurationError) -> String {
    let bytes: [UInt8]?
    do throws(DiskFailure) {
      bytes = try await services.files.contents(of: role.tokenFile)?.bytes
    } catch {
      throw ConfigurationError("\(place): \(error.description)")
    }
    guard let bytes else { throw ConfigurationError("\(place): there is no such file") }
    let token = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
    guard token.count == 1, let text = token.first, text.utf8.count <= 32_768 else {
      throw ConfigurationError("\(place): the file doesn't have one token in it")
    }
    return String(text)
  }
}
