import Support
import Testing

@Suite
struct MountTableTests {
  private let table = MountTable(
    Array(
      """
      22 1 254:1 / / rw,relatime shared:1 master:2 - ext4 /dev/vda1 rw
      23 22 0:21 / /mnt/with\\040space rw,nosuid - fuse.dipper s3://data/a\\134b rw,user_id=1000,group_id=0
      24 22 0:22 / /mnt/b ro - fuse.dipper s3://b ro,user_id=0,group_id=0
      25 24 0:23 / /mnt/b rw - tmpfs tmpfs rw
      rubbish
      26 22 0:24 /
      """.utf8
    )
  )

  @Test
  func escapesAndOptionalFieldsAreRead() {
    let entry = table.top(at: "/mnt/with space")
    #expect(entry?.type == "fuse.dipper")
    #expect(entry?.source == #"s3://data/a\b"#)
    #expect(entry?.userID == 1000)
    #expect(entry?.device == "0:21")
  }

  @Test
  func theTopmostMountOfAPathCounts() {
    #expect(table.top(at: "/mnt/b")?.type == "tmpfs")
  }

  @Test
  func linesThatDoNotFitAreLeftOut() {
    #expect(table.entries.count == 4)
    #expect(table.top(at: "/mnt") == nil)
  }

  @Test
  func thisMachineHasARoot() {
    #expect(MountTable.current().top(at: "/") != nil)
  }
}
