internal import Core
internal import FoundationEssentials
internal import HTTP
internal import StoreWire

/// Credentials of the role of a virtual machine at Volcengine or BytePlus, from its metadata service.
///
/// TOS's own SDK asks without a token and is told the role's name; Volcengine's newer SDKs ask for a
/// token first, as a machine with the hardened service needs it. So a token is asked for, and what
/// follows goes without one where nobody hands any out.
///
/// Source: the instance role providers of TOS's SDK for Python (2.9.3) and of Volcengine's SDKs for
/// Go, Python and Node.js, which differ in the method (GET or PUT) that gets a token.
struct VolcengineInstanceCredentials: CredentialSource {
  private let isDisabled: Bool
  private let base: String
  private let roleName: String?
  private let services: CredentialServices

  private static let rolePath = "/volcstack/latest/iam/security_credentials"
  private static let tokenField = "X-volc-ecs-metadata-token"
  /// 6 hours, as the vendor's SDKs ask; a token is asked for with each look anyway.
  private static let tokenSeconds = "21600"

  /// Creates a source that asks for the role of this name, or the one that the environment names, or
  /// the one that the machine has.
  init(
    _ environment: [String: String],
    roleName: String? = nil,
    services: CredentialServices
  ) {
    isDisabled = environment["VOLCENGINE_ECS_METADATA_DISABLED"]?.lowercased() == "true"
    var base = environment["VOLCENGINE_ECS_METADATA_ENDPOINT"].nonEmpty ?? "http://100.96.0.96"
    while base.hasSuffix("/") { base.removeLast() }
    self.base = base
    self.roleName = roleName ?? environment["VOLCENGINE_ECS_METADATA"].nonEmpty
    self.services = services
  }

  var place: String {
    isDisabled
      ? "the instance's role (switched off by VOLCENGINE_ECS_METADATA_DISABLED)"
      : "the instance's role (\(base.utf8.printable))"
  }

  var remedy: String { "see whether the instance still has its role" }

  func look(by deadline: Instant) async throws(ConfigurationError) -> CredentialFinding {
    guard !isDisabled, let session = try await session(by: deadline) else { return .nothing }
    var fields = HeaderFields()
    if case .token(let token) = session { fields[Self.tokenField] = token }
    guard let role = try await role(session, fields, by: deadline) else { return .nothing }
    let document = try await answer(
      "\(Self.rolePath)/\(PercentEncoding.query(role))",
      fields,
      by: deadline
    )
    guard document.status == 200 else {
      throw ConfigurationError(
        "\(place): the answer for the role \(role.utf8.printable) is HTTP \(document.status)"
      )
    }
    let keys = try CredentialDocument.credentials(document.body, by: .service, place: place)
    return .found(.keys(keys))
  }

  /// How the service is asked.
  private enum Session {
    case token(String)
    case plain
  }

  /// Finds out whether there is a service, and whether it hands out tokens; nil if nobody answers.
  private func session(by deadline: Instant) async throws(ConfigurationError) -> Session? {
    for method in ["PUT", "GET"] {
      let answer: WireAnswer
      do throws(HTTPError) {
        answer = try await services.ask(
          CredentialServices.Question(
            method: method,
            url: base + "/latest/api/token",
            fields: HeaderFields(["\(Self.tokenField)-ttl-seconds": Self.tokenSeconds]),
            // On a machine that isn't in this cloud nobody is there: one second finds out.
            patience: .seconds(1),
            tryCountMax: 1
          ),
          by: deadline
        )
      } catch {
        return nil
      }
      guard answer.status == 200 else { continue }
      let token = String(decoding: answer.body, as: UTF8.self).trimmed
      guard !token.isEmpty, token.isVisibleASCII, token.utf8.count <= 4096 else {
        throw ConfigurationError("\(place): the session's token can't be one")
      }
      return .token(token)
    }
    return .plain
  }

  /// The role to ask for; nil if the machine has none.
  private func role(
    _ session: Session,
    _ fields: HeaderFields,
    by deadline: Instant
  ) async throws(ConfigurationError) -> String? {
    if let roleName { return roleName }
    let list = try await answer("\(Self.rolePath)?type=user", fields, by: deadline)
    if list.status == 404 { return nil }
    guard list.status == 200 else {
      // Without a token it may be anybody who answers at that address.
      guard case .token = session else { return nil }
      throw ConfigurationError("\(place): the answer is HTTP \(list.status)")
    }
    // A list in JSON, or a name a line.
    let names =
      (try? JSONDecoder().decode([String].self, from: Data(list.body)))
      ?? String(decoding: list.body, as: UTF8.self).split(whereSeparator: \.isNewline)
      .map { String($0).trimmed }
    guard let name = names.first(where: { !$0.isEmpty }) else { return nil }
    guard name.utf8.count <= 128, name.utf8.allSatisfy(\.isRoleNameCharacter) else {
      guard case .token = session else { return nil }
      throw ConfigurationError("\(place): the name of the role can't be one")
    }
    return name
  }

  private func answer(
    _ path: String,
    _ fields: HeaderFields,
    by deadline: Instant
  ) async throws(ConfigurationError) -> WireAnswer {
    do throws(HTTPError) {
      return try await services.ask(
        // The service is there: it is waited for longer than somebody who may not exist.
        CredentialServices.Question(
          url: base + path,
          fields: fields,
          patience: .seconds(5),
          tryCountMax: 3
        ),
        by: deadline
      )
    } catch {
      throw ConfigurationError("\(place): no answer: \(error.message)")
    }
  }
}
