import Glibc
import Simulation
import Support
import Testing

@testable import Daemon

@Suite
struct MountCopiesTests {
  /// A process of /proc in a mount namespace.
  private func proc(
    _ home: TestDirectory,
    _ name: String,
    namespace: String,
    _ mounts: String
  )
    throws
  {
    try Disk.createDirectory(home.file(name))
    try Disk.createDirectory(home.file(name + "/ns"))
    symlink("mnt:[\(namespace)]", home.file(name + "/ns/mnt"))
    try home.write(Array(mounts.utf8), to: name + "/mountinfo")
    try home.write(Array("sh\n".utf8), to: name + "/comm")
  }

  @Test
  func whoHasACopyInAnotherNamespaceIsNamed() throws {
    let home = try TestDirectory()
    let ours = "24 22 0:44 / /mnt/b ro - fuse.dipper b rw\n"
    let other = "25 22 0:45 / /mnt/b ro - fuse.dipper b rw\n"
    try proc(home, "self", namespace: "1", ours)
    try proc(home, "10", namespace: "1", ours)
    try proc(home, "11", namespace: "2", ours)
    try proc(home, "12", namespace: "2", ours)
    try proc(home, "13", namespace: "3", other)
    let copies = MountCopies.find(of: "0:44", proc: home.path)
    #expect(copies.holders == [MountCopies.Holder(processID: 11, name: "sh")])
    #expect(copies.words == "process 11 (sh)")
    #expect(MountCopies.find(of: "0:46", proc: home.path).words == nil)
  }
}
