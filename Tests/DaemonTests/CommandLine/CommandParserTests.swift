import Daemon
import Testing

/// Parses a command line given as words.
func parse(_ words: String..., program: String = "dipper") throws(UsageError) -> Request {
  try CommandParser.parse(program: program, arguments: words.map { Array($0.utf8) })
}

/// The invocation that a command line asks for.
func invocation(_ words: String..., program: String = "dipper") throws -> Invocation {
  try invocation(words, program: program)
}

func invocation(_ words: [String], program: String = "dipper") throws -> Invocation {
  let request = try CommandParser.parse(program: program, arguments: words.map { Array($0.utf8) })
  guard case .run(let invocation) = request else {
    throw UsageError("not a command: \(request)")
  }
  return invocation
}

/// The sentence that a command line is refused with.
func refusal(_ words: String..., program: String = "dipper") -> String? {
  do throws(UsageError) {
    _ = try CommandParser.parse(program: program, arguments: words.map { Array($0.utf8) })
    return nil
  } catch {
    return error.message
  }
}

@Suite
struct CommandParserTests {
  @Test
  func optionsAndOperandsMixInAnyOrder() throws {
    let first = try invocation("mount", "s3://b/p", "--part-size=16M", "/mnt", "-f")
    let second = try invocation("mount", "-f", "--part-size", "16MiB", "--", "s3://b/p", "/mnt")
    #expect(first == second)
    #expect(first.operands.map(\.bytes) == [Array("s3://b/p".utf8), Array("/mnt".utf8)])
    #expect(first.number(.partSize) == 16 << 20)
    #expect(first.has(.foreground))
  }

  @Test
  func underscoresAreDashes() throws {
    #expect(
      try invocation("mount", "s3://b", "/m", "--cache_dir", "/c").text(.cacheDirectory) == "/c"
    )
  }

  @Test
  func lettersJoin() throws {
    let list = try invocation("ls", "-lr", "s3://b")
    #expect(list.has(.long) && list.has(.recursive))
  }

  @Test
  func theListOfMountTakesTheSameNames() throws {
    let listed = try invocation(
      "mount",
      "s3://b",
      "/m",
      "-o",
      #"rw,noauto,_netdev,x-systemd.automount,cache_dir=/a\,b,cache-size=1G,allow_other"#
    )
    #expect(listed.text(.cacheDirectory) == "/a,b")
    #expect(listed.number(.cacheSize) == 1 << 30)
    #expect(listed.has(.allowOther))
    #expect(listed.options.count == 3)
  }

  @Test
  func readOnlyHasMountsOwnSpelling() throws {
    #expect(try invocation("mount", "s3://b", "/m", "-o", "ro").has(.readOnly))
  }

  @Test
  func flagsOfTheKernelArePassedOn() throws {
    func flags(_ lists: String...) throws -> MountFlags {
      try invocation(["mount", "s3://b", "/m"] + lists.flatMap { ["-o", $0] }).mountFlags
    }
    #expect(
      try flags("noexec,noatime,nosuid,nodev,sync,dirsync").kernelOptions
        == ["noexec", "noatime", "sync", "dirsync"]
    )
    #expect(try flags("noexec,noatime,sync", "exec,atime,async").kernelOptions == [])
    #expect(try flags("rw").isReadOnly == false)
    #expect(try flags("rw", "ro").isReadOnly == true)
    #expect(try flags("defaults,relatime").isReadOnly == nil)
    #expect(throws: UsageError.self) { try flags("noexec=1") }
    #expect(throws: UsageError.self) { try flags("noexecute") }
  }

  @Test(arguments: [
    "127.0.0.1:9000", "localhost", "localhost:9000/x", "10.0.0.1", "[::1]:9000", "::1", "8.8.8.8",
    "s3.localhost",
  ])
  func aNumberWithoutASchemeIsRefused(endpoint: String) throws {
    let error = #expect(throws: UsageError.self) {
      try invocation("ls", "s3://b", "--endpoint", endpoint)
    }
    #expect(error?.message.contains("--endpoint needs http:// or https://") == true)
    if !endpoint.hasPrefix(":") {
      #expect(throws: Never.self) {
        try invocation("ls", "s3://b", "--endpoint", "http://" + endpoint)
      }
    }
  }

  @Test(arguments: ["s3.example.org", "storage:9000", "1.2.3.example.org", "mylocalhost"])
  func aNameWithoutASchemeIsTaken(endpoint: String) throws {
    #expect(try invocation("ls", "s3://b", "--endpoint", endpoint).text(.endpoint) == endpoint)
  }

  @Test
  func theLastValueWins() throws {
    #expect(try invocation("mount", "s3://b", "/m", "-o", "uid=1,uid=2").number(.uid) == 2)
  }

  @Test
  func aDashIsAnOperand() throws {
    #expect(try invocation("get", "s3://b/k", "-").operands.last?.bytes == Array("-".utf8))
  }

  @Test
  func keysKeepTheirBytes() throws {
    let key: [UInt8] = Array("s3://b/".utf8) + [0xFF, 0x2D]
    let request = try CommandParser.parse(program: "dipper", arguments: [Array("ls".utf8), key])
    #expect(request == .run(Invocation(.ls, operands: [Invocation.Operand(key)])))
  }

  @Test
  func helpAndVersionNeedNothingElse() throws {
    #expect(try parse("--help") == .help(nil))
    #expect(try parse("help", "mount") == .help(.mount))
    #expect(try parse("mount", "-h") == .help(.mount))
    #expect(try parse("get", "--help") == .help(.get))
    #expect(try parse("--version") == .version)
  }

  @Test
  func withoutACommandASourceMeansMount() throws {
    // This is how mount.fuse3 calls the program that fstab's type names.
    let mount = try invocation("s3://b", "/m", "-o", "dev,suid")
    #expect(mount == (try invocation("mount", "s3://b", "/m")))
  }

  @Test(
    arguments: [
      (["mount", "s3://b", "/m", "--cahce-dir", "/c"], "did you mean --cache-dir?"),
      (["mount", "s3://b", "/m", "-o", "ro,=x"], "-o has an option without a name: '=x'"),
      (
        ["mount", "s3://b", "/m", "-o", "regoin=x"],
        "unknown option -o regoin; did you mean --region?"
      ),
      (
        ["mount", "s3://b", "/m", "--zzzzzzzz"], "unknown option --zzzzzzzz; 'dipper mount --help'"
      ),
      (["mount", "s3://b", "/m", "-Z"], "unknown option -Z"),
      (["mount", "s3://b"], "'mount' needs BUCKET-URL MOUNTPOINT"),
      (["mount", "s3://b", "/m", "/n"], "'/n' is one too many"),
      (["mnt", "s3://b"], "there is no command 'mnt'"),
      (["gett", "s3://b/k"], "did you mean 'get'?"),
      ([], "dipper needs a command"),
      (["get", "s3://b/k", "--part-size", "5"], "--part-size must be from 5M to 5G"),
      (["get", "s3://b/k", "--part-size", "6G"], "--part-size must be from 5M to 5G"),
      (["get", "s3://b/k", "--part-size", "1.5M"], "--part-size needs a size"),
      (["get", "s3://b/k", "--part-size"], "--part-size needs a size"),
      (["get", "s3://b/k", "--part-size="], "--part-size needs a size"),
      (["get", "s3://b/k", "--endpoint", "--json"], "--endpoint needs an address"),
      (["get", "s3://b/k", "--endpoint", "not a url"], "--endpoint needs an address"),
      (["get", "s3://b/k", "--endpoint", "ftp://host"], "--endpoint needs an address"),
      (["get", "s3://b/k", "--endpoint", "http:///x"], "--endpoint needs an address"),
      (["get", "s3://b/k", "--profile", "--json"], "--profile needs a value (P), but --json"),
      (["get", "s3://b/k", "--json=yes"], "--json takes no value"),
      (["get", "s3://b/k", "--limit-rate", "0"], "--limit-rate needs a rate"),
      (["get", "s3://b/k", "--max-retries", "-1"], "--max-retries must be from 0"),
      (["get", "s3://b/k", "--log-level", "loud"], "--log-level needs one of debug, info"),
      (["get", "s3://b/k", "--cache-dir", "/c"], "--cache-dir is not an option of 'get'"),
      (["get", "s3://b/k", "--checkpoint", "c", "--no-checkpoint"], "exclude each other"),
      (["get", "s3://b/k", "--progress", "--no-progress"], "exclude each other"),
      (["get", "s3://b/k", "--anonymous", "--profile", "p"], "exclude each other"),
      (["ls", "tos://b", "--path-style", "--custom-domain"], "exclude each other"),
      (["mount", "s3://b", "/m", "--write-back", "5", "--read-only"], "exclude each other"),
      (["mount", "s3://b", "/m", "--write-back", "5", "-o", "ro"], "exclude each other"),
      (["mount", "s3://b", "/m", "--write-back", "5", "--offline"], "exclude each other"),
      (["mount", "s3://b", "/m", "--write-back", "5", "-o", "sync"], "-o sync forbids that"),
      (["get", "s3://b/k", "-", "--checkpoint", "c"], "--checkpoint can't be had with '-'"),
      (["mount", "s3://b", "/m", "--part-size", "64K"], "--part-size must be at least 128K"),
      (["mount", "s3://b", "/m", "-o", "uid=nobody"], "-o uid needs a numeric user or group id"),
      (["mount", "s3://b", "/m", "-o", "allow_other=1"], "-o allow_other takes no value"),
      (["mount", "s3://b", "/m", "-o", "uid"], "-o uid needs a numeric user or group id"),
      (["mount", "s3://b", "/m", "--umask", "9"], "--umask needs an octal mode, such as 022, not"),
      (["mount", "s3://b", "/m", "--file-mode", "9"], "octal mode, such as 644, not '9'"),
      (
        ["mount", "s3://b", "/m", "--deadline", "0.5"],
        "--deadline needs a number of seconds from 1 to 315360000, such as 60, not '0.5'"
      ),
      (["mount", "s3://b", "/m", "--deadline", "nan"], "seconds from 1 to 315360000, such as 60"),
      (["mount", "s3://b", "/m", "--deadline", "999999999"], "seconds from 1 to 315360000"),
      (
        ["mount", "s3://b", "/m", "--metadata-ttl", "-1"], "from 0 to 315360000, such as 10 or 0.5"
      ),
    ]
  )
  func whatIsWrongIsOneSentenceThatNamesIt(words: [String], part: String) throws {
    let error = try #require(throws: UsageError.self) {
      try CommandParser.parse(program: "dipper", arguments: words.map { Array($0.utf8) })
    }
    #expect(error.message.contains(part), "\(error.message)")
    #expect(!error.message.contains("\n"))
  }

  @Test(arguments: ["http://127.0.0.1:9000", "https://s3.example.com/base", "storage:9000"])
  func anEndpointIsAnAddress(endpoint: String) throws {
    #expect(try invocation("ls", "s3://b", "--endpoint", endpoint).text(.endpoint) == endpoint)
  }

  @Test
  func partSizeZeroMeansTheDefault() throws {
    #expect(try invocation("get", "s3://b/k", "--part-size", "0").number(.partSize) == 0)
    #expect(try invocation("mount", "s3://b", "/m", "--part-size", "0").number(.partSize) == 0)
  }

  @Test
  func aHostileWordCannotMoveTheCursor() {
    #expect(refusal("ls", "--\u{1B}[2J", "s3://b")?.contains("\u{1B}") == false)
    #expect(refusal("\u{1B}[2J")?.contains("\u{1B}") == false)
  }

  @Test
  func secondsMayHaveAFraction() throws {
    let mount = try invocation("mount", "s3://b", "/m", "--metadata-ttl", "0.5", "--deadline", "90")
    #expect(mount.duration(.metadataTTL) == .milliseconds(500))
    #expect(mount.duration(.deadline) == .seconds(90))
  }

  @Test
  func plannedCommandsAreParsedLikeOthers() throws {
    #expect(try invocation("put", "f", "s3://b/k", "--part-size", "8M").command == .put)
    #expect(refusal("warm")?.contains("needs PATH...") == true)
  }
}

@Suite
struct OperandTests {
  @Test(arguments: ["s3://data/b", "tos://data/b", "file:///srv/data"])
  func aBucketsURLIsNoPathOfThisMachine(text: String) {
    let operand = Invocation.Operand(Array(text.utf8))
    let error = #expect(throws: UsageError.self) { try operand.path(named: "FILE") }
    #expect(
      error?.message == "FILE must be a path on this machine, and '\(text)' is a bucket's URL"
    )
  }

  @Test(arguments: ["./s3:/data", "./s3://data", "s3:", "s3", "/srv/s3://data", "http://x"])
  func whatOnlyLooksLikeOneIsAPath(text: String) throws {
    #expect(try Invocation.Operand(Array(text.utf8)).path(named: "FILE") == text)
  }
}

@Suite
struct MountHelperTests {
  @Test
  func theProgramsNameMakesItAMountHelper() throws {
    let words = ["s3://b", "/m", "-n", "-o", "rw,noatime,region=r"]
    for program in ["/sbin/mount.dipper", "mount.fuse.dipper"] {
      let request = try CommandParser.parse(
        program: program,
        arguments: words.map { Array($0.utf8) }
      )
      guard case .run(let mount) = request else {
        Issue.record("not a mount: \(request)")
        return
      }
      #expect(mount.command == .mount)
      #expect(mount.options == [.region: .text("r")])
    }
  }

  @Test
  func fakeIsARehearsalAndNotTheForeground() throws {
    #expect(try parse("s3://b", "/m", "-f", program: "mount.dipper") == .nothing)
    #expect(refusal("s3://b", "-f", program: "mount.dipper") != nil)
  }

  @Test
  func theTypeIsKnownAlready() throws {
    let request = try parse("s3://b", "/m", "-sv", "-t", "fuse.dipper", program: "mount.dipper")
    guard case .run(let mount) = request else {
      Issue.record("not a mount: \(request)")
      return
    }
    #expect(mount.operands.count == 2 && mount.options.isEmpty)
  }

  @Test
  func whatIsNotEscapedStaysAsItIs() throws {
    let mount = try invocation("mount", "s3://b", "/m", "-o", #"profile=a\b\\,region=x"#)
    #expect(mount.text(.profile) == #"a\b\"#)
    #expect(mount.text(.region) == "x")
  }
}
