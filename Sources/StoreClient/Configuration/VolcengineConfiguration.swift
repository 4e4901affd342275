internal import Core
internal import FoundationEssentials
internal import StoreWire

/// The file of Volcengine's command line, `~/.volcengine/config.json`.
///
/// Source: `volcengine/volcengine-cli`, cmd/configure.go, which writes it, and the readers of it in
/// Volcengine's SDKs for Go and Python.
struct VolcengineConfiguration: Decodable {
  /// The name of the profile in use.
  let current: String?
  private let profiles: [String: Entry]?

  /// A profile as it is written.
  private struct Entry: Decodable {
    var mode: String?
    var region: String?
    var accessKey: String?
    var secretKey: String?
    var sessionToken: String?
    var stsExpiration: Int64?
    var roleName: String?
    var roleTRN: String?
    var tokenFile: String?
    var policy: String?

    enum CodingKeys: String, CodingKey {
      case mode
      case region
      case accessKey = "access-key"
      case secretKey = "secret-key"
      case sessionToken = "session-token"
      case stsExpiration = "sts-expiration"
      case roleName = "role-name"
      case roleTRN = "role-trn"
      case tokenFile = "oidc-token-file"
      case policy
    }
  }

  private enum CodingKeys: String, CodingKey {
    case current
    case profiles
  }

  /// Reads the file.
  ///
  /// - Throws: if it isn't what it should be; nothing of it is quoted.
  init(_ bytes: [UInt8], place: String) throws(ConfigurationError) {
    // The tool makes an empty file when it first starts.
    guard bytes.contains(where: { !" \t\r\n".utf8.contains($0) }) else {
      current = nil
      profiles = nil
      return
    }
    do {
      self = try JSONDecoder().decode(VolcengineConfiguration.self, from: Data(bytes))
    } catch {
      throw ConfigurationError("\(place) isn't the JSON of Volcengine's command line")
    }
  }

  /// The profile of this name.
  func profile(_ name: String, place: String) -> VolcengineProfile? {
    guard let entry = profiles?[name] else { return nil }
    return VolcengineProfile(
      place: "profile \"\(name.utf8.printable)\" in \(place)",
      mode: (entry.mode ?? "").lowercased(),
      region: entry.region.nonEmpty,
      fields: CredentialFields(
        accessKeyID: entry.accessKey,
        secretAccessKey: entry.secretKey,
        sessionToken: entry.sessionToken
      ),
      expiry: entry.stsExpiration.flatMap { $0 > 0 ? Timestamp(unixTime: $0) : nil },
      roleName: entry.roleName.nonEmpty,
      roleTRN: entry.roleTRN.nonEmpty,
      tokenFile: entry.tokenFile.nonEmpty,
      policy: entry.policy.nonEmpty
    )
  }
}

/// A profile of Volcengine's command line.
struct VolcengineProfile: Sendable {
  /// What it is called in messages.
  let place: String
  /// Where its keys come from, in lower case; empty means that they stand there.
  let mode: String
  let region: String?
  let fields: CredentialFields
  /// When the keys end; nil if they don't.
  let expiry: Timestamp?
  let roleName: String?
  let roleTRN: String?
  let tokenFile: String?
  let policy: String?
  /// What a person should know of the file.
  var remark: String?
}

extension Timestamp {
  /// A moment in seconds, milliseconds, microseconds or nanoseconds since 1970: the tools have written
  /// each, and which one shows in the size.
  fileprivate init(unixTime: Int64) {
    var scale: Int64 = 1_000_000_000
    var limit: Int64 = 1_000_000_000_000
    while scale > 1, unixTime >= limit {
      scale /= 1000
      limit = limit.multipliedReportingOverflow(by: 1000).partialValue
    }
    let (nanoseconds, overflow) = unixTime.multipliedReportingOverflow(by: scale)
    self.init(nanoseconds: overflow ? .max : nanoseconds)
  }
}
