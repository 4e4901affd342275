internal import Core
internal import FoundationEssentials
internal import StoreWire

/// The JSON document in which programs and services hand out credentials.
///
/// JSON is read by FoundationEssentials, which the program has anyway: a parser of our own or one
/// more library would be more to trust.
///
/// Source: AWS SDKs and Tools Reference Guide, "Process credential provider" and "Container
/// credential provider"; Amazon EC2 User Guide, "Retrieve security credentials"; for Volcengine the
/// instance role provider of TOS's SDK for Python.
struct CredentialDocument: Decodable {
  private let version: Int?
  private let accessKeyID: String?
  private let secretAccessKey: String?
  /// What a program calls the session's token, and what a service does.
  private let sessionToken: String?
  private let token: String?
  private let expiration: String?
  /// What the instance metadata of Volcengine calls it.
  private let expiredTime: String?
  private let code: String?
  private let message: String?

  private enum CodingKeys: String, CodingKey {
    case version = "Version"
    case accessKeyID = "AccessKeyId"
    case secretAccessKey = "SecretAccessKey"
    case sessionToken = "SessionToken"
    case token = "Token"
    case expiration = "Expiration"
    case expiredTime = "ExpiredTime"
    case code = "Code"
    case message = "Message"
  }

  /// Who writes the document; they differ in what must be in it.
  enum Author {
    case program
    case service
  }

  /// Reads a document; `place` begins the sentence about what is wrong with it.
  static func credentials(
    _ bytes: [UInt8],
    by author: Author,
    place: String
  ) throws(ConfigurationError) -> Credentials {
    let document: CredentialDocument
    do {
      document = try JSONDecoder().decode(CredentialDocument.self, from: Data(bytes))
    } catch DecodingError.typeMismatch(_, let context) {
      let name = context.codingPath.last?.stringValue ?? "the document"
      throw ConfigurationError("\(place): \(name) is of the wrong type")
    } catch {
      // The decoder's own words may quote the document.
      throw ConfigurationError("\(place) isn't the JSON that was expected")
    }
    return try document.credentials(by: author, place: place)
  }

  /// Returns the credentials in the document; `place` begins the sentence about what is wrong with it.
  func credentials(
    by author: Author,
    place: String
  ) throws(ConfigurationError) -> Credentials {
    switch author {
    case .program where version != 1:
      throw ConfigurationError("\(place) isn't of Version 1, the only one that is known")
    case .service:
      guard let code, code != "Success" else { break }
      let reason = message.map { ": \(Redaction.redacted($0))" } ?? ""
      throw ConfigurationError("\(place) says \(Redaction.redacted(code))\(reason)")
    case .program: break
    }
    let fields = CredentialFields(
      accessKeyID: accessKeyID,
      secretAccessKey: secretAccessKey,
      sessionToken: sessionToken ?? token,
      expiration: expiration ?? expiredTime
    )
    let found = try fields.credentials(
      idName: "AccessKeyId",
      secretName: "SecretAccessKey",
      place: place
    )
    guard let found else { throw ConfigurationError("\(place) has no AccessKeyId") }
    return found
  }
}
