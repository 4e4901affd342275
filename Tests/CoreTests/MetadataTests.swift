import Core
import Testing

@Suite struct PosixMetadataTests {
  private func full(_ style: MetadataStyle) -> PosixMetadata {
    var metadata = PosixMetadata()
    metadata.kind = .file
    metadata.permissions = 0o640
    metadata.userID = 1000
    metadata.groupID = 100
    metadata.modified = Timestamp(nanoseconds: 1_700_000_000_120_000_000)
    metadata.accessed = Timestamp(seconds: 1_600_000_000)
    return metadata
  }

  @Test func s3fsSpellsModesInDecimalAndTimesInSeconds() {
    #expect(
      full(.s3fs).metadata(.s3fs) == [
        "mode": "33184", "uid": "1000", "gid": "100", "mtime": "1700000000.12",
        "atime": "1600000000",
      ]
    )
  }

  @Test func dataSyncSpellsModesInOctalAndTimesInNanoseconds() {
    #expect(
      full(.datasync).metadata(.datasync) == [
        "file-permissions": "0100640", "file-owner": "1000", "file-group": "100",
        "file-mtime": "1700000000120000000ns", "file-atime": "1600000000000000000ns",
      ]
    )
  }

  @Test func aTimeThatIsNoLongerSoIsNotStored() {
    func stamped(
      _ metadata: [String: String],
      _ seconds: Int64?,
      _ style: MetadataStyle
    ) -> [String:
      String]
    {
      let time = seconds.map { Timestamp(nanoseconds: $0 * 1_000_000_000) }
      return PosixMetadata.stamped(metadata, modified: time, style: style)
    }
    let both = ["mtime": "5", "file-mtime": "5000000000ns", "a": "b"]
    for style in MetadataStyle.allCases {
      #expect(stamped(both, nil, style) == ["a": "b"])
      #expect(stamped(["a": "b"], nil, style) == ["a": "b"])
      #expect(stamped(both, 5, style) == both, "it says so already")
    }
    #expect(stamped(both, 6, .s3fs) == ["mtime": "6", "a": "b"])
    #expect(stamped(both, 6, .datasync) == ["file-mtime": "6000000000ns", "a": "b"])
    #expect(stamped(both, 6, .none) == ["a": "b"])
  }

  @Test(arguments: MetadataStyle.allCases.filter { $0 != .none })
  func whatIsWrittenIsReadAgain(style: MetadataStyle) {
    let kinds: [FileKind] = [.file, .directory, .symbolicLink]
    let times: [Int64] = [0, 1, 999_999_999, 1_000_000_000, -1, -1_500_000_000, .max, -.max]
    for kind in kinds {
      for time in times {
        var metadata = full(style)
        metadata.kind = kind
        metadata.permissions = 0o7755
        metadata.modified = Timestamp(nanoseconds: time)
        #expect(PosixMetadata(metadata.metadata(style)) == metadata, "\(kind) \(time)")
      }
    }
    #expect(PosixMetadata().metadata(style).isEmpty)
    #expect(full(.none).metadata(.none).isEmpty)
  }

  @Test(
    arguments: [
      // s3fs 1.93, rclone's time alone, rclone --metadata, DataSync.
      (["mode": "33188", "mtime": "1617181723", "uid": "0"], 0o644, 1_617_181_723_000_000_000),
      (["mtime": "1617181723.25"], nil, 1_617_181_723_250_000_000),
      (["mode": "0100664", "mtime": "1617181723.000000000"], 0o664, 1_617_181_723_000_000_000),
      (
        ["file-permissions": "0600", "file-mtime": "1617181723000000001ns"], 0o600,
        1_617_181_723_000_000_001
      ),
      // More digits than a nanosecond has.
      (["mtime": "1.1234567899"], nil, 1_123_456_789),
    ] as [([String: String], UInt16?, Int64)]
  )
  func whatOthersWroteIsRead(written: [String: String], permissions: UInt16?, time: Int64) {
    let metadata = PosixMetadata(written)
    #expect(metadata.permissions == permissions)
    #expect(metadata.modified == Timestamp(nanoseconds: time))
  }

  @Test(arguments: [
    "", " ", "-", "1.", "1.x", "x", "ns", "1e3", "99999999999999999999", "9999999999999", "1.-5",
    "+1",
  ])
  func aTimeThatIsNoneIsNotSaid(text: String) {
    #expect(PosixMetadata(["mtime": text]).modified == nil)
  }

  @Test func whatIsNoModeIsNotSaid() {
    for text in ["", "x", "-1", "099", "99999999999"] {
      #expect(PosixMetadata(["mode": text]).permissions == nil, "\(text)")
    }
    // Permissions alone say nothing of the kind.
    #expect(PosixMetadata(["mode": "420"]).kind == nil)
    #expect(PosixMetadata(["mode": "420"]).permissions == 0o644)
    // A pipe's mode is no kind that there is.
    #expect(PosixMetadata(["mode": "4516"]).kind == nil)
  }

  @Test func replacingKeepsWhatIsTheUsers() {
    let old = ["mode": "33188", "file-mtime": "5ns", "colour": "red"]
    #expect(
      full(.s3fs).replacing(in: old, style: .s3fs) == [
        "mode": "33184", "uid": "1000", "gid": "100", "mtime": "1700000000.12",
        "atime": "1600000000", "colour": "red",
      ]
    )
    #expect(full(.s3fs).replacing(in: old, style: .none) == old)
  }
}

@Suite struct ContentTypesTests {
  private let types = ContentTypes(
    parsing: """
      # a comment
      text/plain\t\tasc txt TEXT
      application/gzip gz # not this
      application/x-compressed-tar tar.gz
      text/other txt
      nothing
      application/json
      """
  )

  @Test(
    arguments: [
      ("a.txt", "text/plain"), ("A.TXT", "text/plain"), ("a.b.text", "text/plain"),
      ("x.gz", "application/gzip"), ("x.tar.gz", "application/x-compressed-tar"),
      (".hidden.txt", "text/plain"), ("a", nil), ("txt", nil), (".txt", nil), ("a.", nil),
      ("", nil),
      ("a.this", nil), ("a.txt~", nil),
    ] as [(String, String?)]
  )
  func theLongestKnownEndingCounts(name: String, type: String?) {
    #expect(types.type(ofFileNamed: name) == type)
  }
}
