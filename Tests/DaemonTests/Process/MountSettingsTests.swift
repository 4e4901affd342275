import Core
import Dipper
import Testing

@testable import Daemon

@Suite
struct MountSettingsTests {
  private func settings(_ options: String...) throws -> MountSettings {
    let words = ["mount", "s3://b/p", "/m"] + options
    let request = try CommandParser.parse(
      program: "dipper",
      arguments: words.map { Array($0.utf8) }
    )
    guard case .run(let invocation) = request else { throw UsageError("no command") }
    let url = try BucketURL(Array("s3://b/p".utf8), for: .bucket) { _ in false }
    return try MountSettings(invocation, url: url, environment: ["HOME": "/home/u"])
  }

  @Test
  func defaultsAreThoseOfTheHelp() throws {
    let settings = try settings()
    #expect(settings.partSize == 8 << 20)
    #expect(settings.parallel == 8)
    #expect(settings.deadline == .seconds(60))
    #expect(settings.cacheDirectory == "/home/u/.cache/dipper")
    let help = HelpText.text(for: .mount)
    #expect(help.contains("\(ByteSize.describe(settings.cacheSize))"))
    #expect(help.contains("\(ByteSize.describe(settings.memory))"))
    #expect(help.contains("(default: \(settings.metadataTTL.components.seconds))"))
  }

  @Test
  func parallelIsBroughtIntoItsRange() throws {
    #expect(try settings("--parallel", "0").parallel == 1)
    #expect(try settings("--parallel", "-5").parallel == 1)
    #expect(try settings("--parallel", "5000").parallel == 1000)
  }

  @Test
  func zeroIsTheDefaultPartSize() throws {
    #expect(try settings("--part-size", "0").partSize == 8 << 20)
    #expect(try settings("--part-size", "128K").partSize == 128 << 10)
  }

  @Test
  func theCacheDirectoryFollowsTheDesktopsRules() {
    #expect(MountSettings.cacheDirectory("/c", [:]) == "/c")
    #expect(
      MountSettings.cacheDirectory(nil, ["XDG_CACHE_HOME": "/x", "HOME": "/h"]) == "/x/dipper"
    )
    #expect(
      MountSettings.cacheDirectory(nil, ["XDG_CACHE_HOME": "x", "HOME": "/h"]) == "/h/.cache/dipper"
    )
    #expect(MountSettings.cacheDirectory(nil, [:]).hasPrefix("/"))
  }

  @Test
  func whatIsStoredAndWhenIsRead() throws {
    #expect(try settings().metadataStyle == .s3fs && settings().writeBackDelay == nil)
    let settings = try settings("--metadata-style", "datasync", "--write-back", "2.5")
    #expect(settings.metadataStyle == .datasync)
    #expect(settings.writeBackDelay == .milliseconds(2500))
  }

  @Test
  func modesAndOwnersAreRead() throws {
    let settings = try settings(
      "-o",
      "uid=7,gid=8,umask=027,file_mode=0640,dir_mode=750,allow_other"
    )
    #expect(settings.userID == 7 && settings.groupID == 8)
    #expect(settings.umask == 0o27 && settings.fileMode == 0o640 && settings.directoryMode == 0o750)
    #expect(settings.allowsOther)
  }
}
