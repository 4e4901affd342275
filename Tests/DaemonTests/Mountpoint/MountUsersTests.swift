import Core
import Glibc
import Simulation
import Support
import Testing

@testable import Daemon

@Suite
struct MountUsersTests {
  /// A /proc with one process.
  private func proc(
    _ home: TestDirectory,
    _ processID: Int32,
    cwd: String = "/",
    root: String = "/",
    open: [String: String] = [:],
    maps: String = ""
  ) throws {
    let directory = "\(home.path)/\(processID)"
    try Disk.createDirectory(directory)
    try Disk.createDirectory(directory + "/fd")
    symlink(cwd, directory + "/cwd")
    symlink(root, directory + "/root")
    for (number, path) in open { symlink(path, "\(directory)/fd/\(number)") }
    for (name, text) in [("comm", "cat\n"), ("maps", maps)] {
      try FileDescriptor.open("\(directory)/\(name)", [.readWrite, .create]).write(
        Array(text.utf8)
      )
    }
  }

  @Test
  func eachKindOfUseIsNamed() throws {
    let home = try TestDirectory()
    try proc(home, 11, cwd: "/mnt/b/d")
    try proc(home, 12, root: "/mnt/b")
    try proc(home, 13, open: ["0": "/dev/null", "3": "/mnt/b/d/f"])
    try proc(home, 14, maps: "7f00-7f01 r--p 0000 00:2b 7      /mnt/b/lib.so\n")
    try proc(home, 15, cwd: "/mnt/bb", open: ["1": "pipe:[7]", "2": "/mnt/b2/x"])
    let nested =
      "23 22 0:21 / /mnt/b/n rw - tmpfs tmpfs rw\n24 22 0:22 / /mnt/b ro - fuse.dipper b rw\n"
    let found = MountUsers.find(at: "/mnt/b", MountTable(Array(nested.utf8)), proc: home.path)
    let user = { MountUsers.User(processID: $0, name: "cat", hold: $1) }
    #expect(
      found
        == MountUsers(
          users: [
            user(11, .workingDirectory), user(12, .rootDirectory), user(13, .openFile("d/f")),
            user(14, .mapping("lib.so")),
          ],
          mountpoints: ["/mnt/b/n"]
        )
    )
    let sentence = found.sentence(at: "/mnt/b")
    for part in [
      "/mnt/b/n is mounted below it", "process 11 (cat) has its working directory there",
      "process 12 (cat) has its root directory there", "process 13 (cat) has 'd/f' open",
      "process 14 (cat) has 'lib.so' mapped", "--lazy",
    ] {
      #expect(sentence.contains(part), "\(part)")
    }
  }

  @Test
  func whatCannotBeSeenIsSaid() {
    let sentence = MountUsers().sentence(at: "/m")
    #expect(sentence.hasPrefix("/m is in use by something that can't be seen from here"))
  }

  @Test
  func manyUsersAreASentenceAllTheSame() {
    let users = (1...100).map { MountUsers.User(processID: $0, name: "x\n", hold: .openFile("")) }
    let sentence = MountUsers(users: users).sentence(at: "/m")
    #expect(sentence.contains("95 more") && sentence.utf8.count < 500)
    #expect(!sentence.contains("\n"))
  }
}
