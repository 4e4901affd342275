import Core
import HTTP
import StoreWire
import Support
import Testing

@testable import StoreClient

/// Keys for TOS in the environment and in the files of the vendor's tools.
@Suite struct TOSCredentialTests {
  private static let secret = CredentialBench.secret

  private func find(
    _ environment: [String: String],
    files: [String: String] = [:],
    profile: String? = nil
  ) async -> (keys: Credentials?, failure: String) {
    var options = StoreOptions()
    options.profile = profile
    let found = await CredentialBench(files: files).findTOS(
      environment.merging(["HOME": "/h"]) { own, _ in own },
      options: options
    )
    #expect(!found.failure.contains(Self.secret))
    return found
  }

  @Test(arguments: [
    ("TOS_ACCESS_KEY", "TOS_SECRET_KEY", "TOS_SECURITY_TOKEN"),
    ("TOS_ACCESS_KEY_ID", "TOS_SECRET_ACCESS_KEY", "TOS_SESSION_TOKEN"),
    ("VOLCENGINE_ACCESS_KEY", "VOLCENGINE_SECRET_KEY", "VOLCENGINE_SESSION_TOKEN"),
    ("VOLCENGINE_ACCESS_KEY_ID", "VOLCENGINE_SECRET_ACCESS_KEY", "VOLCENGINE_SESSION_TOKEN"),
  ])
  func everySpellingIsRead(_ id: String, _ secret: String, _ token: String) async {
    let found = await find([id: "AKLTENV", secret: Self.secret, token: "TOKEN"]).keys
    #expect(found?.accessKey == "AKLTENV")
    #expect(found?.secretKey == Self.secret)
    #expect(found?.sessionToken == "TOKEN")
    let withoutToken = await find([id: "AKLTENV", secret: Self.secret, token: ""]).keys
    #expect(withoutToken != nil && withoutToken?.sessionToken == nil)
    #expect(await find([id: "AKLTENV"]).failure == "the environment has \(id) but not \(secret)")
    #expect(
      await find([secret: Self.secret, id: ""]).failure
        == "the environment has \(secret) but not \(id)"
    )
  }

  @Test func firstSpellingCountsAndSpellingsDoNotMix() async {
    let all = [
      "TOS_ACCESS_KEY": "AKONE", "TOS_SECRET_KEY": "one", "VOLCENGINE_ACCESS_KEY": "AKTWO",
      "VOLCENGINE_SECRET_KEY": "two", "VOLCENGINE_SESSION_TOKEN": "two",
    ]
    let found = await find(all).keys
    #expect(found?.accessKey == "AKONE")
    #expect(found?.sessionToken == nil)
    let origin = try? await CredentialBench().tosChain(all).origin(by: .distantFuture)
    #expect(origin?.place == "the environment (TOS_ACCESS_KEY, TOS_SECRET_KEY)")
    #expect(
      await find(["TOS_ACCESS_KEY": "AKONE", "TOS_SECRET_ACCESS_KEY": "x"]).failure
        == "the environment has TOS_ACCESS_KEY but not TOS_SECRET_KEY"
    )
  }

  @Test func keysOfAWSAreNotThoseOfTOS() async {
    let found = await find(["AWS_ACCESS_KEY_ID": "A", "AWS_SECRET_ACCESS_KEY": "x"])
    #expect(found.keys == nil)
    for place in [
      "looked in: the environment (TOS_ACCESS_KEY, TOS_SECRET_KEY; ", "/h/.tos/config.toml",
      "/h/.tosutilconfig", "/h/.volcengine/config.json", "VOLCENGINE_OIDC_ROLE_TRN",
      "the instance's role (http://100.96.0.96)",
    ] {
      #expect(found.failure.contains(place), "\(found.failure)")
    }
  }

  // The vendor's command line

  private static let profiles = """
    [default]
    access_key_id = "AKDEFAULT"
    secret_access_key = "\(secret)"
    [work]
    access_key_id = "AKWORK"
    secret_access_key = "\(secret)"
    security_token = "<YOUR_TOKEN>"
    [work.tos]
    access_key_id = "AKTOS"
    [work.ve-tos]
    access_key_id = "AKVETOS"
    security_token = "TOKEN"
    [old.tos]
    access_key_id = "AKOLD"
    secret_access_key = "\(secret)"
    [half]
    access_key_id = "AKHALF"
    [encrypted]
    access_key_id = "ENC:AAAA"
    secret_access_key = "ENC:BBBB"
    [draft]
    access_key_id = "<YOUR_ACCESS_KEY_ID>"
    secret_access_key = "<YOUR_SECRET>"
    [empty]
    region = "cn-beijing"
    """
  private static let files = ["/h/.tos/config.toml": profiles]

  @Test func profilesAreReadWithWhatGoesOverThem() async {
    #expect(await find([:], files: Self.files).keys?.accessKey == "AKDEFAULT")
    let work = await find(["TOS_PROFILE": "work"], files: Self.files).keys
    #expect(work?.accessKey == "AKVETOS")
    #expect(work?.sessionToken == "TOKEN")
    #expect(await find([:], files: Self.files, profile: "old").keys?.accessKey == "AKOLD")
    let env = ["TOS_ACCESS_KEY": "AKENV", "TOS_SECRET_KEY": "x"]
    #expect(await find(env, files: Self.files).keys?.accessKey == "AKENV")
    #expect(await find(env, files: Self.files, profile: "work").keys?.accessKey == "AKVETOS")
  }

  @Test func secretsMayStandBesideTheProfiles() async {
    let files = [
      "/h/.tos/config.toml": "[default]\nregion = 'cn-beijing'\n",
      "/h/.tos/credentials.toml":
        "schema_version = 1\n[default.ve-tos]\naccess_key_id = 'AKBESIDE'\nsecret_access_key = 'x'\n"
        + "[default.adrive.oauth]\nscope = [\"file:read\"]\n",
    ]
    #expect(await find([:], files: files).keys?.accessKey == "AKBESIDE")
    let moved = ["TOS_CREDENTIALS_PATH": "/s.toml", "TOS_CONFIG_PATH": "/c.toml"]
    let elsewhere = [
      "/c.toml": "", "/s.toml": "[default]\naccess_key_id='AKS'\nsecret_access_key='x'",
    ]
    #expect(await find(moved, files: elsewhere).keys?.accessKey == "AKS")
  }

  @Test func profileThatIsNotThereIsAnError() async {
    let named = await find(["TOS_PROFILE": "none"], files: Self.files)
    #expect(
      named.failure
        == "there is no profile \"none\" in /h/.tos/config.toml, /h/.tos/credentials.toml"
    )
    let asked = await find([:], files: Self.files, profile: "none")
    #expect(asked.failure.hasSuffix("/h/.volcengine/config.json"))
    #expect(
      await find([:], files: Self.files, profile: "half").failure
        == "profile \"half\" in /h/.tos/config.toml, /h/.tos/credentials.toml has access_key_id but not "
        + "secret_access_key"
    )
    let empty = await find([:], files: Self.files, profile: "empty")
    #expect(empty.failure.hasPrefix("no credentials found; looked in: /h/.tos/config.toml"))
  }

  @Test func whatOnlyItsToolCanReadIsToldAndCountsAsNothing() async throws {
    let encrypted = await find([:], files: Self.files, profile: "encrypted")
    #expect(encrypted.failure.contains("access_key_id is encrypted (ENC:)"))
    let draft = await find([:], files: Self.files, profile: "draft")
    #expect(draft.failure.contains("access_key_id is still a placeholder"))
    // The next place is asked, and what was passed over is remembered.
    let bench = CredentialBench(files: [
      "/h/.tos/config.toml": "[default]\naccess_key_id = 'AK'\nsecret_access_key = 'ENC:x'\n",
      "/h/.tosutilconfig": "ak=AKUTIL\nsk=s\ntoken=Provide your security token here\n",
    ])
    let origin = try await bench.tosChain(["HOME": "/h"]).origin(by: .distantFuture)
    #expect(origin.accessKey == "AKUTIL")
    #expect(origin.place == "/h/.tosutilconfig")
    #expect(origin.remarks.count == 1)
    #expect(origin.remarks.first?.contains("secret_access_key is encrypted") == true)
  }

  @Test(arguments: [
    (["/h/.tos/config.toml": profiles], "/h/.tos/config.toml"),
    (
      [
        "/h/.tos/config.toml": "[default]\nregion = 'x'\n",
        "/h/.tos/credentials.toml": "[default]\naccess_key_id = 'AK'\nsecret_access_key = 'x'\n",
      ], "/h/.tos/credentials.toml"
    ),
    (["/h/.tosutilconfig": "ak=AK\nsk=x\n"], "/h/.tosutilconfig"),
    (
      [
        "/h/.volcengine/config.json":
          "{\"current\": \"p\", \"profiles\": {\"p\": {\"access-key\": \"A\", \"secret-key\": \"x\"}}}"
      ], "/h/.volcengine/config.json"
    ),
  ])
  func secretThatOthersCanReadIsTold(_ files: [String: String], _ path: String) async throws {
    let remark = "\(path) has a secret and can be read by other users; chmod 600 it"
    for areOpen in [true, false] {
      let bench = CredentialBench(files: files, areOpenToOthers: areOpen)
      let origin = try await bench.tosChain(["HOME": "/h"]).origin(by: .distantFuture)
      #expect(origin.remarks == (areOpen ? [remark] : []))
    }
  }

  @Test func secretOfAWSThatOthersCanReadIsTold() async throws {
    let files = [
      "/h/.aws/config": "[default]\nregion = x\n",
      "/h/.aws/credentials": "[default]\naws_access_key_id = A\naws_secret_access_key = x\n",
    ]
    let bench = CredentialBench(files: files, areOpenToOthers: true)
    let origin = try await bench.chain(["HOME": "/h"]).origin(by: .distantFuture)
    #expect(
      origin.remarks == [
        "/h/.aws/credentials has a secret and can be read by other users; chmod 600 it"
      ]
    )
  }

  @Test func brokenFileIsAnErrorWithItsLineAndWithoutItsText() async {
    let found = await find([:], files: ["/h/.tos/config.toml": "[default]\nkey = \(Self.secret)\n"])
    #expect(found.failure.hasPrefix("/h/.tos/config.toml, line 2: "))
  }

  // tosutil

  @Test func tosutilIsReadIfItsKeysArePlain() async {
    let plain = await find(
      [:],
      files: ["/h/.tosutilconfig": "ak=AKLTU\nsk=\(Self.secret)\ntoken=T\n"]
    )
    #expect(plain.keys?.accessKey == "AKLTU")
    #expect(plain.keys?.sessionToken == "T")
    let hidden = await find([:], files: ["/h/.tosutilconfig": "ak=c2VjcmV0\nsk=\(Self.secret)\n"])
    #expect(hidden.keys == nil)
    #expect(hidden.failure.contains("/h/.tosutilconfig: ak is obfuscated"))
    let draft = await find([:], files: ["/h/.tosutilconfig": "ak=Provide your access key\nsk=x\n"])
    #expect(draft.failure.contains("ak is still a placeholder"))
    let half = await find([:], files: ["/h/.tosutilconfig": "ak=AKLTU\n"])
    #expect(half.failure == "/h/.tosutilconfig has ak but not sk")
  }

  // Volcengine's command line

  private func commandLine(_ profile: String, current: String = "p") -> [String: String] {
    [
      "/h/.volcengine/config.json":
        "{\"current\": \"\(current)\", \"enableColor\": true, \"profiles\": {\"p\": {\(profile)}}}"
    ]
  }

  @Test func profileOfVolcengineHasKeysWithTheirEnd() async {
    let keys = "\"mode\": \"ak\", \"access-key\": \"AKVE\", \"secret-key\": \"\(Self.secret)\""
    let found = await find([:], files: commandLine(keys))
    #expect(found.keys?.accessKey == "AKVE")
    #expect(found.keys?.expiry == nil)
    let session = keys.replacing("\"ak\"", with: "\"sso\"") + ", \"session-token\": \"T\""
    for end in ["1796029200", "1796029200000", "1796029200000000", "1796029200000000000"] {
      let found = await find([:], files: commandLine(session + ", \"sts-expiration\": \(end)"))
      #expect(found.keys?.expiry?.iso8601 == "2026-11-30T09:00:00Z", "\(end)")
    }
    let ended = await find([:], files: commandLine(session + ", \"sts-expiration\": 1"))
    #expect(ended.failure.contains("expired at 1970-01-01T00:00:01Z"))
    #expect(ended.failure.contains("log in again with ve"))
  }

  @Test func profileOfVolcengineIsChosen() async {
    let files = commandLine("\"access-key\": \"AKVE\", \"secret-key\": \"x\"", current: "")
    #expect(await find([:], files: files).keys == nil)
    #expect(await find(["VOLCENGINE_PROFILE": "p"], files: files).keys?.accessKey == "AKVE")
    #expect(await find([:], files: files, profile: "p").keys?.accessKey == "AKVE")
    #expect(
      await find(["VOLCENGINE_PROFILE": "q"], files: files).failure
        == "there is no profile \"q\" in /h/.volcengine/config.json"
    )
    #expect(
      await find([:], files: ["/h/.volcengine/config.json": "\n"]).failure.hasPrefix("no cred")
    )
  }

  @Test(arguments: ["sso", "console-login", "RamRoleArn", "Other"])
  func waysThatAreNotKnownAreNamed(_ mode: String) async {
    let found = await find([:], files: commandLine("\"mode\": \"\(mode)\""))
    #expect(found.failure.contains("by mode \"\(mode.lowercased())\", which isn't supported"))
  }

  @Test func printedSourcesShowNoSecret() async throws {
    let profile = try #require(
      TOSFileProfile(
        try TOMLFile(parsing: Array(Self.profiles.utf8)),
        name: "default",
        place: "there"
      )
    )
    var text = "\(profile)"
    dump(profile, to: &text)
    #expect(!text.contains(Self.secret))
    #expect(text.contains("there"))
  }
}
