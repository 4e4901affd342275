import StoreWire
import Testing

@Suite struct ProfileFileTests {
  private func config(_ text: String) throws(ProfileFileError) -> ProfileFile {
    try ProfileFile(parsing: Array(text.utf8), kind: .config)
  }

  private func credentials(_ text: String) throws(ProfileFileError) -> ProfileFile {
    try ProfileFile(parsing: Array(text.utf8), kind: .credentials)
  }

  @Test func bothFilesNameTheirProfiles() throws {
    let config = try config(
      "[default]\nregion = eu-west-1\n[profile work]\nregion=us-east-1\n[ignored]\nregion=x\n"
    )
    #expect(config.profiles.keys.sorted() == ["default", "work"])
    #expect(config.profiles["default"]?.properties == ["region": "eu-west-1"])
    #expect(config.profiles["work"]?.properties == ["region": "us-east-1"])
    let credentials = try credentials(
      "[default]\naws_access_key_id = A\n[work]\naws_secret_access_key = s/e+c=r#et\n"
    )
    #expect(credentials.profiles["work"]?.properties == ["aws_secret_access_key": "s/e+c=r#et"])
  }

  @Test func commentsBlanksAndLineEndsDoNotMatter() throws {
    let file = try config(
      "\u{FEFF}# comment\r\n; comment\r\n\r\n[ profile  my work\t] ; comment\r\n"
        + "Region =  eu-west-1  # where\r\n  # indented comment\r\noutput=json\r\n\t\r\n"
    )
    #expect(
      file.profiles == [
        "my work": section(["region": "eu-west-1", "output": "json"])
      ]
    )
  }

  @Test func propertiesMayHavePropertiesBelowThem() throws {
    let file = try config(
      """
      [default]
      s3 =
        addressing_style = path
        max_concurrent_requests=20
      region = r
      [profile empty]
      [sso-session corp]
      sso_region = x
      [services dev]
      s3 =
        endpoint_url = http://127.0.0.1:9000
      """
    )
    let profile = try #require(file.profiles["default"])
    #expect(profile.properties == ["region": "r"])
    #expect(
      profile.nested == ["s3": ["addressing_style": "path", "max_concurrent_requests": "20"]]
    )
    #expect(file.profiles["empty"] == ProfileFile.Section())
    #expect(file.others["sso-session"]?["corp"]?.properties == ["sso_region": "x"])
    #expect(
      file.others["services"]?["dev"]?.nested["s3"] == ["endpoint_url": "http://127.0.0.1:9000"]
    )
  }

  @Test func anIndentedLineContinuesAValue() throws {
    let file = try config("[default]\ncredential_process = a\n  b = c\nx = y\n")
    #expect(
      file.profiles["default"]?.properties == ["credential_process": "a\nb = c", "x": "y"]
    )
  }

  @Test func sectionsOfOneNameAreOneAndTheLastPropertyHolds() throws {
    let file = try credentials("[a]\nx=1\ny=1\n[b]\nx=3\n[a]\nx=2\n")
    #expect(file.profiles["a"]?.properties == ["x": "2", "y": "1"])
  }

  @Test func theNamedDefaultIsPreferred() throws {
    let text = "[profile default]\nx=named\n[default]\nx=plain\ny=plain\n"
    #expect(try config(text).profiles["default"]?.properties == ["x": "named"])
    #expect(try config("[default]\nx=plain\n").profiles["default"]?.properties == ["x": "plain"])
  }

  @Test func credentialsLieOverTheConfig() throws {
    let merged = ProfileFile.merged(
      config: try config("[profile a]\nregion=r\nk=1\n[profile b]\nregion=s\n"),
      credentials: try credentials("[a]\nk=2\n[c]\nk=3\n")
    )
    #expect(merged.profiles["a"]?.properties == ["region": "r", "k": "2"])
    #expect(merged.profiles.keys.sorted() == ["a", "b", "c"])
  }

  @Test(arguments: [
    ("x=1\n", 1, "before the first section"), ("[default]\nnonsense\n", 2, "\"=\""),
    ("[default\n", 1, "\"]\""), ("[default] x\n", 1, "behind"), ("\n\n[]\n", 3, "no name"),
    ("[default]\n=secret\n", 2, "no name"), ("[default]\n  x = 1\n", 2, "no property above"),
    ("[default]\ns3 =\n  nonsense\n", 3, "\"=\""),
  ])
  func aMistakeIsReportedWithItsLine(_ text: String, _ line: Int, _ reason: String) throws {
    let error = try #require(#expect(throws: ProfileFileError.self) { try config(text) })
    #expect(error.line == line)
    #expect(error.description.contains("line \(line)"))
    #expect(error.message.contains(reason))
    #expect(!error.message.contains("secret"))
  }

  @Test func bytesThatAreNotTextDoNotTrap() throws {
    let file = try ProfileFile(
      parsing: Array("# ".utf8) + [0xFF, 0xFE, 0x0A] + Array("[a]\nk=".utf8) + [0xFF],
      kind: .credentials
    )
    #expect(file.profiles["a"]?.properties.count == 1)
    #expect(try credentials("").profiles.isEmpty)
  }

  private func section(_ properties: [String: String]) -> ProfileFile.Section {
    var section = ProfileFile.Section()
    section.properties = properties
    return section
  }
}
