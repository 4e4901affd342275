import Core
import StoreWire
import Testing

@testable import StoreClient

@Suite struct CredentialTests {
  private static let secret = "wJalrXUtnFEMI/K7MDENG"

  private func identity(
    _ environment: [String: String],
    files: [String: String] = [:],
    options: StoreOptions = StoreOptions()
  ) async throws(ConfigurationError) -> Identity {
    var environment = environment
    environment["HOME"] = environment["HOME"] ?? "/home/u"
    return try await CredentialChain(
      options: options,
      environment: environment,
      files: ConfigurationFiles(environment: environment, reader: MemoryFiles(files))
    ).identity()
  }

  private func failure(
    _ environment: [String: String],
    files: [String: String] = [:],
    options: StoreOptions = StoreOptions()
  ) async -> String? {
    do throws(ConfigurationError) {
      _ = try await identity(environment, files: files, options: options)
      return nil
    } catch {
      return error.description
    }
  }

  private func options(profile: String? = nil, anonymous: Bool = false) -> StoreOptions {
    var options = StoreOptions()
    options.profile = profile
    options.isAnonymous = anonymous
    return options
  }

  private static let environment = [
    "AWS_ACCESS_KEY_ID": "ENVKEY", "AWS_SECRET_ACCESS_KEY": secret, "AWS_SESSION_TOKEN": "TOKEN",
  ]
  private static let files = [
    "/home/u/.aws/credentials": """
    [default]
    aws_access_key_id = DEFAULTKEY
    aws_secret_access_key = \(secret)
    [work]
    aws_access_key_id = WORKKEY
    aws_secret_access_key = \(secret)
    aws_session_token = WORKTOKEN
    [half]
    aws_access_key_id = HALFKEY
    """,
    "/home/u/.aws/config": """
    [profile process]
    credential_process = /bin/true
    [profile role]
    role_arn = arn:aws:iam::1:role/x
    source_profile = default
    [profile sso]
    sso_session = x
    [profile region-only]
    region = eu-west-1
    """,
  ]

  @Test func environmentComesFirst() async throws {
    let found = try await identity(Self.environment, files: Self.files).credentials
    #expect(found?.accessKey == "ENVKEY")
    #expect(found?.secretKey == Self.secret)
    #expect(found?.sessionToken == "TOKEN")
  }

  @Test func filesComeNext() async throws {
    let found = try await identity([:], files: Self.files).credentials
    #expect(found?.accessKey == "DEFAULTKEY")
    #expect(found?.sessionToken == nil)
  }

  @Test func profileOfTheEnvironmentIsUsed() async throws {
    let found = try await identity(["AWS_PROFILE": "work"], files: Self.files).credentials
    #expect(found?.accessKey == "WORKKEY")
    #expect(found?.sessionToken == "WORKTOKEN")
  }

  @Test func profileOptionBeatsKeysOfTheEnvironment() async throws {
    let found = try await identity(
      Self.environment,
      files: Self.files,
      options: options(profile: "work")
    ).credentials
    #expect(found?.accessKey == "WORKKEY")
  }

  @Test func anonymousLooksNowhere() async throws {
    let found = try await identity(
      Self.environment,
      files: Self.files,
      options: options(anonymous: true)
    )
    #expect(found == .anonymous)
  }

  @Test(arguments: [
    (["AWS_ACCESS_KEY_ID": "ENVKEY"], "AWS_SECRET_ACCESS_KEY"),
    (["AWS_SECRET_ACCESS_KEY": secret], "AWS_ACCESS_KEY_ID"),
    (["AWS_ACCESS_KEY_ID": "ENVKEY", "AWS_SECRET_ACCESS_KEY": ""], "AWS_SECRET_ACCESS_KEY"),
  ])
  func halfAPairIsAnError(_ environment: [String: String], _ missing: String) async {
    let message = await failure(environment, files: Self.files)
    #expect(message?.contains("not \(missing)") == true)
    #expect(message?.contains(Self.secret) == false)
  }

  @Test func halfAPairInAProfileIsAnError() async {
    let message = await failure(["AWS_PROFILE": "half"], files: Self.files)
    #expect(message == "profile \"half\" has aws_access_key_id but not aws_secret_access_key")
  }

  @Test func emptyVariablesCountAsUnset() async throws {
    let found = try await identity(
      ["AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_SESSION_TOKEN": ""],
      files: Self.files
    ).credentials
    #expect(found?.accessKey == "DEFAULTKEY")
  }

  @Test(arguments: ["ENV KEY", "ENV\r\nX-Evil: 1", "ENV\u{1}"])
  func keyThatWouldBreakAHeaderIsAnError(_ key: String) async {
    let message = await failure([
      "AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": Self.secret,
    ])
    #expect(message?.contains("control character") == true)
  }

  @Test func unknownProfileIsAnError() async {
    let message = await failure([:], files: Self.files, options: options(profile: "nope"))
    #expect(message?.contains("no profile \"nope\"") == true)
    #expect(message?.contains("/home/u/.aws/credentials") == true)
  }

  @Test(arguments: ["role", "sso"])
  func otherSourcesAreSaidToBeUnsupported(_ profile: String) async {
    let message = await failure(["AWS_PROFILE": profile], files: Self.files)
    #expect(message?.contains("isn't supported") == true)
    #expect(message?.contains("\"\(profile)\"") == true)
  }

  @Test func nothingFoundSaysWhereWasLooked() async {
    let message = await failure(["AWS_PROFILE": "region-only"], files: Self.files)
    #expect(message?.contains("AWS_ACCESS_KEY_ID") == true)
    #expect(message?.contains("region-only") == true)
    #expect(message?.contains("/home/u/.aws/config") == true)
  }

  @Test func filesAreFoundWhereTheEnvironmentSays() async throws {
    let found = try await identity(
      ["AWS_SHARED_CREDENTIALS_FILE": "~/keys", "AWS_CONFIG_FILE": "/etc/none"],
      files: [
        "/home/u/keys":
          "[default]\naws_access_key_id=TILDE\naws_secret_access_key=\(Self.secret)\n"
      ]
    ).credentials
    #expect(found?.accessKey == "TILDE")
  }

  @Test func brokenFileIsNamedWithItsLine() async {
    let message = await failure(
      [:],
      files: ["/home/u/.aws/credentials": "[default\n\(Self.secret)"]
    )
    #expect(message?.contains("/home/u/.aws/credentials, line 1") == true)
    #expect(message?.contains(Self.secret) == false)
  }

  @Test func descriptionsKeepSecrets() async throws {
    let keys = try await identity(Self.environment)
    let files = ConfigurationFiles(
      environment: ["HOME": "/home/u"],
      reader: MemoryFiles(Self.files)
    )
    let profile = try await files.profile(named: nil)
    var text = "\(keys) \(profile) " + String(reflecting: keys) + String(reflecting: profile)
    dump(keys, to: &text)
    dump(profile, to: &text)
    dump(FixedCredentials(try #require(keys.credentials)), to: &text)
    dump(EnvironmentCredentials(Self.environment, spellings: .aws), to: &text)
    #expect(!text.contains(Self.secret))
    #expect(!text.contains("TOKEN"))
  }

  @Test func chainRemembersAndRenews() async throws {
    let files = MemoryFiles(Self.files)
    let environment = ["HOME": "/home/u"]
    let chain = CredentialChain(
      options: StoreOptions(),
      environment: environment,
      files: ConfigurationFiles(environment: environment, reader: files)
    )
    let old = try await chain.identity()
    files.write(
      "[default]\naws_access_key_id=NEW\naws_secret_access_key=\(Self.secret)\n",
      to: "/home/u/.aws/credentials"
    )
    #expect(try await chain.identity() == old)
    #expect(await chain.renew(old) == .fresh)
    let new = try await chain.identity()
    #expect(new.credentials?.accessKey == "NEW")
    // A second request that was refused with the old keys finds the new ones there.
    #expect(await chain.renew(old) == .fresh)
    #expect(await chain.renew(new) != .fresh)
  }
}
