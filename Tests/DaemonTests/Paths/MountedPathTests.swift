import Daemon
import Support
import Testing

@Suite
struct MountedPathTests {
  private let table = MountTable(
    Array(
      """
      1 0 8:1 / / rw - ext4 /dev/sda rw
      2 1 0:30 / /mnt/data rw - fuse.dipper s3://data rw,user_id=0,group_id=0
      3 2 0:31 / /mnt/data/other rw - tmpfs tmpfs rw
      4 1 0:32 / /mnt/my\\040bucket rw - fuse.dipper s3://b rw,user_id=0,group_id=0

      """.utf8
    )
  )

  private func place(_ path: String) -> MountedPath? { MountedPath(Array(path.utf8), in: table) }

  @Test
  func aPathBelongsToTheMountWithTheLongestMountpoint() {
    #expect(place("/mnt/data/a/b")?.mountpoint == "/mnt/data")
    #expect(place("/mnt/data")?.mountpoint == "/mnt/data")
    #expect(place("/mnt/my bucket/x")?.mountpoint == "/mnt/my bucket")
    #expect(place("/mnt/data/other/x") == nil)
    #expect(place("/mnt/database/x") == nil)
    #expect(place("/etc") == nil)
  }

  @Test
  func namesCountFromTheRootOfTheMount() {
    #expect(place("/mnt/data/a/b")?.relative == Array("a/b".utf8))
    #expect(place("/mnt/data")?.relative == [])
  }

  @Test
  func namesNeedNotBeText() throws {
    let path = Array("/mnt/data/".utf8) + [0xFF, 0xFE]
    #expect(try #require(MountedPath(path, in: table)).relative == [0xFF, 0xFE])
    let request = ControlRequest(.warm, path: [0x61, 0x2F, 0xFF])
    #expect(request.names == [[0x61], [0xFF]])
  }
}
