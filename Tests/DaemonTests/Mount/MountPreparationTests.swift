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

  @Test
  func tooFewOpenFilesAreRefusedByTheirNumber() {
    let error = #expect(throws: MountFailure.self) { try MountPreparation.checkOpenFiles(48) }
    #expect(error?.sentence.contains("only 48 files (RLIMIT_NOFILE)") == true)
    for limit in [nil, MountPreparation.openFileCountMin, 1 << 20] {
      #expect(throws: Never.self) { try MountPreparation.checkOpenFiles(limit) }
    }
  }
}
