internal import Core
internal import FoundationEssentials
internal import StoreWire

/// What Volcengine's security token service answers to AssumeRoleWithOIDC.
///
/// Source: the OIDC provider of TOS's SDK for Python (2.9.3), `OIDCCredentialsProvider`.
struct OIDCAnswer: Decodable {
  private let metadata: Metadata?
  private let result: Result?

  private struct Metadata: Decodable {
    let requestID: String?
    let error: Failure?

    enum CodingKeys: String, CodingKey {
      case requestID = "RequestId"
      case error = "Error"
    }
  }

  private struct Failure: Decodable {
    let code: String?
    let message: String?

    enum CodingKeys: String, CodingKey {
      case code = "Code"
      case message = "Message"
    }
  }

  private struct Result: Decodable {
    let credentials: CredentialDocument?

    enum CodingKeys: String, CodingKey {
      case credentials = "Credentials"
    }
  }

  private enum CodingKeys: String, CodingKey {
    case metadata = "ResponseMetadata"
    case result = "Result"
  }

  /// Reads an answer.
  ///
  /// - Throws: with what the service says, or with what is wrong with its answer.
  static func credentials(_ answer: WireAnswer) throws(ConfigurationError) -> Credentials {
    let document = try? JSONDecoder().decode(OIDCAnswer.self, from: Data(answer.body))
    guard answer.isSuccess, document?.metadata?.error == nil else {
      throw refusal(answer.status, document?.metadata)
    }
    guard let keys = document?.result?.credentials else {
      throw ConfigurationError("the answer of STS has no credentials in it")
    }
    let found = try keys.credentials(by: .service, place: "the answer of STS")
    guard found.sessionToken != nil, found.expiry != nil else {
      throw ConfigurationError(
        "the answer of STS has no session token, or doesn't say when it ends"
      )
    }
    return found
  }

  private static func refusal(_ status: Int, _ metadata: Metadata?) -> ConfigurationError {
    let facts = [metadata?.error?.code, metadata?.error?.message].compactMap { $0.nonEmpty }
      .map { Redaction.redacted($0) }
    let request = metadata?.requestID.nonEmpty.map { ", request \($0.utf8.printable.prefix(80))" }
    return ConfigurationError(
      "STS refuses (HTTP \(status)\(request ?? ""))"
        + (facts.isEmpty ? "" : ": \(facts.joined(separator: ": "))")
    )
  }
}
