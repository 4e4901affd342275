import Glibc
import Simulation
import Support
import Testing

@testable import Daemon

@Suite
struct MountpointCheckTests {
  private typealias Facts = MountpointCheck.Facts
  private static let ours = MountTable.Entry(
    mountpoint: "/m",
    device: "0:1",
    type: "fuse.dipper",
    source: "s3://b"
  )
  private static let foreign = MountTable.Entry(
    mountpoint: "/m",
    device: "0:1",
    type: "tmpfs",
    source: "none"
  )

  private func refusal(_ facts: Facts, allowsEntries: Bool = false) -> String {
    if case .refused(let reason) = MountpointCheck.verdict(
      "/m",
      facts,
      allowsEntries: allowsEntries
    ) {
      reason
    } else {
      ""
    }
  }

  @Test
  func anEmptyDirectoryIsReady() {
    #expect(MountpointCheck.verdict("/m", Facts(kind: .directory), allowsEntries: false) == .ready)
  }

  @Test
  func aDirectoryWithFilesNeedsConsent() {
    let facts = Facts(kind: .directory, hasEntries: true)
    #expect(refusal(facts).contains("not empty"))
    #expect(MountpointCheck.verdict("/m", facts, allowsEntries: true) == .ready)
  }

  @Test
  func aDeadMountOfOursIsCleared() {
    let facts = Facts(mount: Self.ours, kind: .disconnected)
    #expect(MountpointCheck.verdict("/m", facts, allowsEntries: false) == .clear)
  }

  @Test
  func whatCannotBeMountedOnSaysWhy() {
    #expect(refusal(Facts(kind: .missing)).contains("doesn't exist"))
    #expect(refusal(Facts(kind: .other)).contains("not a directory"))
    #expect(refusal(Facts(kind: .silent)).contains("doesn't answer"))
    #expect(refusal(Facts(kind: .disconnected)).contains("below a dead mount"))
    #expect(refusal(Facts(kind: .failed("Permission denied"))).contains("Permission denied"))
    #expect(refusal(Facts(kind: .directory, isWritable: false)).contains("not yours"))
    #expect(
      refusal(Facts(mount: Self.ours, kind: .directory)).contains("'dipper unmount' it first")
    )
    #expect(refusal(Facts(mount: Self.ours, kind: .silent)).contains("doesn't answer"))
    #expect(refusal(Facts(mount: Self.foreign, kind: .directory)).contains("already mounted (none"))
    #expect(refusal(Facts(mount: Self.foreign, kind: .disconnected)).contains("umount -l"))
    #expect(
      refusal(Facts(mount: Self.ours, kind: .directory), allowsEntries: true).contains("already")
    )
  }
}

@Suite
struct MountpointTests {
  @Test
  func theSameDirectoryHasOneSpelling() throws {
    let directory = try TestDirectory()
    mkdir(directory.path + "/m", 0o700)
    symlink("m", directory.path + "/link")
    let plain = try Mountpoint(directory.path + "/m")
    #expect(plain.path == directory.path + "/m")
    #expect(try Mountpoint(directory.path + "//./m///") == plain)
    #expect(try Mountpoint(directory.path + "/link") == plain)
    #expect(try Mountpoint(directory.path + "/m/.") == plain)
    #expect(try Mountpoint("/").path == "/")
  }

  @Test
  func factsComeFromTheDirectoryItself() throws {
    let directory = try TestDirectory()
    #expect(try Mountpoint(directory.path).facts().kind == .directory)
    #expect(try Mountpoint(directory.path).facts().hasEntries == false)
    #expect(try Mountpoint(directory.path + "/none").facts().kind == .missing)
    close(open(directory.path + "/f", O_CREAT | O_WRONLY, 0o600))
    #expect(try Mountpoint(directory.path).facts().hasEntries)
    #expect(try Mountpoint(directory.path + "/f").facts().kind == .other)
    #expect(try Mountpoint("/proc").facts().mount?.type == "proc")
  }

  @Test
  func aDirectoryThatIsNotThereIsAnError() {
    #expect(throws: (any Error).self) { try Mountpoint("/no/such/place/m") }
  }
}
