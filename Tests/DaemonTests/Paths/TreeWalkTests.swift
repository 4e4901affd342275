import Daemon
import Glibc
import Simulation
import Support
import Testing

@Suite
struct TreeWalkTests {
  private let home: TestDirectory

  init() throws {
    home = try TestDirectory()
    for directory in ["a", "a/b", "empty"] { try Disk.createDirectory(home.file(directory)) }
    for name in ["one", "a/two", "a/b/three"] { try home.write([1, 2, 3], to: name) }
  }

  private func walk(
    _ path: String,
    upTo countMax: Int = .max
  ) -> (files: [String], failed: [String]) {
    var files: [String] = []
    var failed: [String] = []
    let walk = TreeWalk(
      onFile: { file in
        #expect(file.size == 3)
        files.append(String(decoding: file.path, as: UTF8.self))
        return files.count < countMax
      },
      onFailure: { path, reason in
        #expect(!reason.isEmpty)
        failed.append(String(decoding: path, as: UTF8.self))
      }
    )
    let wentOn = walk.walk(Array(path.utf8))
    #expect(wentOn == (files.count < countMax))
    return (files.sorted(), failed)
  }

  @Test
  func everyFileBelowIsFoundOnce() {
    let found = walk(home.path)
    #expect(found.files == ["a/b/three", "a/two", "one"].map(home.file))
    #expect(found.failed.isEmpty)
    #expect(walk(home.file("one")).files == [home.file("one")])
    #expect(walk(home.file("empty")).files.isEmpty)
  }

  @Test
  func whatIsNotThereIsNamed() {
    #expect(walk(home.file("nothing")).failed == [home.file("nothing")])
  }

  @Test
  func theWalkEndsWhenNobodyTakesTheFiles() {
    #expect(walk(home.path, upTo: 1).files.count == 1)
  }

  @Test
  func aLinkIsNotFollowed() throws {
    #expect(symlink("..", home.file("a/up")) == 0)
    #expect(walk(home.path).files.count == 3)
    #expect(walk(home.file("a/up")).failed == [home.file("a/up")])
  }
}
