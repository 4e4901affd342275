import Testing

@testable import Daemon

@Suite
struct MountPreparationTests {
  @Test
  func onlyWholeComponentsLieBelow() {
    #expect(MountPreparation.isBelow("/a/b", "/a"))
    #expect(MountPreparation.isBelow("/a", "/a"))
    #expect(MountPreparation.isBelow("/a", "/"))
    #expect(!MountPreparation.isBelow("/ab", "/a"))
    #expect(!MountPreparation.isBelow("/a", "/a/b"))
  }
}
