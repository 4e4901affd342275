internal import Core
internal import HTTP
internal import StoreWire

/// Credentials of the role of a virtual machine, from its metadata service, version 2 only.
///
/// On a machine that isn't in a cloud nobody answers at that address: one try of a second finds out.
///
/// Source: Amazon EC2 User Guide, "Use the Instance Metadata Service"; AWS SDKs and Tools Reference
/// Guide, "IMDS credential provider".
struct InstanceCredentials: CredentialSource {
  private let isDisabled: Bool
  private let endpoint: String
  private let patience: Duration
  private let tryCount: Int
  private let services: CredentialServices

  private static let rolePath = "/latest/meta-data/iam/security-credentials/"
  /// 6 hours, the longest that the service gives; a token is asked for with each look anyway.
  private static let tokenSeconds = "21600"

  init(_ environment: [String: String], services: CredentialServices) {
    isDisabled = environment["AWS_EC2_METADATA_DISABLED"]?.lowercased() == "true"
    let isIPv6 =
      environment["AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"]?.lowercased() == "ipv6"
    var endpoint =
      environment["AWS_EC2_METADATA_SERVICE_ENDPOINT"].nonEmpty
      ?? (isIPv6 ? "http://[fd00:ec2::254]" : "http://169.254.169.254")
    while endpoint.hasSuffix("/") { endpoint.removeLast() }
    self.endpoint = endpoint
    func number(_ name: String) -> Int? {
      environment[name].flatMap { Int($0) }.flatMap { (1...60).contains($0) ? $0 : nil }
    }
    patience = .seconds(number("AWS_METADATA_SERVICE_TIMEOUT") ?? 1)
    tryCount = number("AWS_METADATA_SERVICE_NUM_ATTEMPTS") ?? 1
    self.services = services
  }

  var place: String {
    isDisabled
      ? "instance metadata (switched off by AWS_EC2_METADATA_DISABLED)"
      : "instance metadata (\(endpoint.utf8.printable))"
  }

  var remedy: String { "see whether the instance still has its role" }

  func look(by deadline: Instant) async throws(ConfigurationError) -> CredentialFinding {
    guard !isDisabled, let token = try await token(by: deadline) else { return .nothing }
    let fields = HeaderFields(["X-aws-ec2-metadata-token": token])
    let list = try await answer(Self.rolePath, fields, by: deadline)
    // There is a metadata service, and the machine has no role.
    if list.status == 404 { return .nothing }
    try check(list)
    let name = String(decoding: list.body, as: UTF8.self).split(whereSeparator: \.isNewline).first
    guard let name, name.utf8.count <= 128, name.utf8.allSatisfy(\.isRoleNameCharacter) else {
      throw ConfigurationError("\(place): the name of the role can't be one")
    }
    let document = try await answer(Self.rolePath + String(name), fields, by: deadline)
    try check(document)
    let keys = try CredentialDocument.credentials(document.body, by: .service, place: place)
    return .found(.keys(keys))
  }

  /// Returns a token for the questions that follow; nil if nobody there hands out tokens.
  private func token(by deadline: Instant) async throws(ConfigurationError) -> String? {
    let answer: WireAnswer
    do throws(HTTPError) {
      answer = try await services.ask(
        CredentialServices.Question(
          method: "PUT",
          url: endpoint + "/latest/api/token",
          fields: HeaderFields(["X-aws-ec2-metadata-token-ttl-seconds": Self.tokenSeconds]),
          patience: patience,
          tryCountMax: tryCount
        ),
        by: deadline
      )
    } catch {
      return nil
    }
    // 403: switched off for this machine; others: something else answers at this address.
    guard answer.status == 200 else { return nil }
    let token = String(decoding: answer.body, as: UTF8.self)
    guard !token.isEmpty, token.isVisibleASCII, token.utf8.count <= 4096 else {
      throw ConfigurationError("\(place): the session's token can't be one")
    }
    return token
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
          url: endpoint + path,
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

  private func check(_ answer: WireAnswer) throws(ConfigurationError) {
    guard answer.status == 200 else {
      throw ConfigurationError("\(place): the answer is HTTP \(answer.status)")
    }
  }
}

extension UInt8 {
  /// True for the characters of a role's name.
  ///
  /// Source: IAM User Guide, "IAM and AWS STS quotas".
  var isRoleNameCharacter: Bool {
    switch self {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: "+=,.@_-".utf8.contains(self)
    }
  }
}
