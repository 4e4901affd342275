internal import Core
internal import HTTP
internal import StoreWire

/// Credentials from the agent beside a container: ECS, EKS Pod Identity and whatever speaks like
/// them.
///
/// Source: AWS SDKs and Tools Reference Guide, "Container credential provider".
struct ContainerCredentials: CredentialSource {
  private let relativeURI: String?
  private let fullURI: String?
  private let token: String?
  private let tokenFile: String?
  private let services: CredentialServices

  private static let agent = "http://169.254.170.2"
  /// Where a token may go unencrypted besides this machine: the agents of ECS and EKS.
  private static let agentHosts: Set = ["169.254.170.2", "169.254.170.23", "fd00:ec2::23"]

  init(_ environment: [String: String], services: CredentialServices) {
    relativeURI = environment["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"].nonEmpty
    fullURI = environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"].nonEmpty
    token = environment["AWS_CONTAINER_AUTHORIZATION_TOKEN"].nonEmpty
    tokenFile = environment["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"].nonEmpty
    self.services = services
  }

  var place: String {
    "container credentials (AWS_CONTAINER_CREDENTIALS_RELATIVE_URI, ..._FULL_URI)"
  }
  var remedy: String { "see whether the container's agent still answers" }

  func look(by deadline: Instant) async throws(ConfigurationError) -> CredentialFinding {
    guard let url = try url() else { return .nothing }
    var fields = HeaderFields(["Accept": "application/json"])
    if let token = try await authorization() { fields["Authorization"] = token }
    let answer: WireAnswer
    do throws(HTTPError) {
      answer = try await services.ask(
        CredentialServices.Question(
          url: url,
          fields: fields,
          patience: .seconds(2),
          tryCountMax: 3
        ),
        by: deadline
      )
    } catch {
      throw ConfigurationError("\(place): no answer: \(error.message)")
    }
    guard answer.status == 200 else {
      throw ConfigurationError("\(place): the answer is HTTP \(answer.status)")
    }
    let keys = try CredentialDocument.credentials(answer.body, by: .service, place: place)
    return .found(.keys(keys))
  }

  /// Where to ask; nil if the environment doesn't say.
  ///
  /// - Throws: if the token would go somewhere that it must not.
  private func url() throws(ConfigurationError) -> String? {
    if let relativeURI {
      guard relativeURI.hasPrefix("/") else {
        throw ConfigurationError("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI must begin with /")
      }
      return Self.agent + relativeURI
    }
    guard let fullURI else { return nil }
    // The host as it will be connected to: a path or a query isn't the endpoint's.
    let base = fullURI.prefix { $0 != "?" && $0 != "#" }
    let endpoint: Endpoint
    do throws(EndpointError) {
      endpoint = try Endpoint(String(base))
    } catch {
      throw ConfigurationError("AWS_CONTAINER_CREDENTIALS_FULL_URI: \(error)")
    }
    guard fullURI.contains("://") else {
      throw ConfigurationError("AWS_CONTAINER_CREDENTIALS_FULL_URI has no http:// or https://")
    }
    guard endpoint.scheme == .https || Self.isNear(endpoint.host) else {
      throw ConfigurationError(
        "AWS_CONTAINER_CREDENTIALS_FULL_URI names \(endpoint.host), which may be asked by https only"
      )
    }
    return fullURI
  }

  /// True for this machine and the agents on its link.
  private static func isNear(_ host: String) -> Bool {
    host.isLoopback || agentHosts.contains(host)
  }

  private func authorization() async throws(ConfigurationError) -> String? {
    guard let tokenFile else {
      guard token?.contains(where: \.isNewline) != true else {
        throw ConfigurationError("AWS_CONTAINER_AUTHORIZATION_TOKEN has more than one line")
      }
      return token
    }
    let name = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"
    let bytes: [UInt8]?
    do throws(DiskFailure) {
      bytes = try await services.files.contents(of: tokenFile)?.bytes
    } catch {
      throw ConfigurationError("\(name): \(error.description)")
    }
    guard let bytes else {
      throw ConfigurationError("\(name): there is no \(tokenFile.utf8.printable)")
    }
    let lines = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
    guard lines.count == 1, let line = lines.first else {
      throw ConfigurationError("\(name): \(tokenFile.utf8.printable) doesn't have one line")
    }
    return String(line)
  }
}

extension ContainerCredentials: CustomStringConvertible, CustomReflectable {
  /// The place, not the token.
  var description: String { place }

  var customMirror: Mirror { Mirror(self, children: []) }
}
