internal import Core
internal import StoreWire

/// What a file of a TOS tool says: where to ask, and as whom.
struct TOSFileProfile: Sendable {
  /// What it is called in messages, such as `profile "default" in ...`.
  let place: String
  /// The region; nil if there is none, or a placeholder.
  let region: String?
  /// The endpoint; nil if there is none, or a placeholder.
  let endpoint: String?
  /// As they are written.
  let accessKeyID: String?
  let secretAccessKey: String?
  let securityToken: String?
  /// What the keys are called in the file.
  private let names: (id: String, secret: String, token: String)
  /// True if the file's own program may write keys in a way that only it can read, without a mark.
  private let mayBeObfuscated: Bool
  /// What a person should know of the file.
  var remark: String?

  /// Reads a profile of the vendor's command line: `[NAME]`, and over it `[NAME.ve-tos]` or, without
  /// that, `[NAME.tos]`; nil if there is none of that name.
  init?(_ file: TOMLFile, name: String, place: String) {
    let tables = [["ve-tos"], ["ve_tos"], ["tos"]].map { [name] + $0 }
      .first { file.tables[$0] != nil }
    guard tables != nil || file.tables[[name]] != nil else { return nil }
    func value(_ key: String) -> String? {
      (tables.flatMap { file.string(key, in: $0) } ?? file.string(key, in: [name])).nonEmpty
    }
    self.place = place
    region = value("region")?.unlessPlaceholder
    endpoint = value("endpoint")?.unlessPlaceholder
    accessKeyID = value("access_key_id")
    secretAccessKey = value("secret_access_key")
    securityToken = value("security_token")
    names = ("access_key_id", "secret_access_key", "security_token")
    mayBeObfuscated = false
  }

  /// Reads what tosutil keeps.
  init(_ file: TOSUtilFile, place: String) {
    self.place = place
    region = file.values["region"]?.unlessPlaceholder
    endpoint = file.values["endpoint"]?.unlessPlaceholder
    accessKeyID = file.values["ak"]
    secretAccessKey = file.values["sk"]
    securityToken = file.values["token"]
    names = ("ak", "sk", "token")
    mayBeObfuscated = true
  }

  /// Returns who asks, or why what is written counts as nothing.
  ///
  /// - Throws: if there is half a pair.
  func finding() throws(ConfigurationError) -> CredentialFinding {
    let written = [
      (names.id, accessKeyID), (names.secret, secretAccessKey), (names.token, securityToken),
    ]
    if let encrypted = written.first(where: { $0.1?.hasPrefix("ENC:") == true }) {
      return .passedOver(
        "\(place): \(encrypted.0) is encrypted (ENC:), so that only the tool that wrote it can read it; "
          + "write the keys there in plain, or set TOS_ACCESS_KEY and TOS_SECRET_KEY"
      )
    }
    if let placeholder = written.prefix(2).first(where: { $0.1?.isPlaceholder == true }) {
      return .passedOver("\(place): \(placeholder.0) is still a placeholder, not a key")
    }
    // Source: the vendor's keys begin with AK; programs that borrow tosutil's file tell by that.
    if mayBeObfuscated, let accessKeyID, !accessKeyID.hasPrefix("AK") {
      return .passedOver(
        "\(place): \(names.id) is obfuscated (it doesn't begin with AK), so that only tosutil can read it; "
          + "write the keys there in plain, or set TOS_ACCESS_KEY and TOS_SECRET_KEY"
      )
    }
    let fields = CredentialFields(
      accessKeyID: accessKeyID,
      secretAccessKey: secretAccessKey,
      // tosutil writes a sentence there until there is a token.
      sessionToken: securityToken?.unlessPlaceholder
    )
    let keys = try fields.credentials(idName: names.id, secretName: names.secret, place: place)
    return keys.map { .found(.keys($0), at: place, remark: remark) } ?? .nothing
  }
}

extension TOSFileProfile: CustomStringConvertible, CustomReflectable {
  /// The place, not the values.
  var description: String { place }

  /// The place, also for `dump`.
  var customMirror: Mirror { Mirror(self, children: ["place": place]) }
}

extension String {
  /// True for `<YOUR_KEY>` and for a sentence: what tools write where a value is still to come.
  fileprivate var isPlaceholder: Bool {
    (hasPrefix("<") && hasSuffix(">")) || contains(where: \.isWhitespace)
  }

  /// The text, or nil if it stands for a value that is still to come.
  fileprivate var unlessPlaceholder: String? { isPlaceholder || isEmpty ? nil : self }
}
