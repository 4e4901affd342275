import Core
import Glibc
import Simulation
import StoreClient
import Support
import Testing

/// Files with configuration, and what may lie in their place.
@Suite(.timeLimit(.minutes(1))) struct FileReaderTests {
  private let reader = DiskFileReader()

  @Test func r5APipeInPlaceOfAFileIsRefusedAndNotWaitedFor() async throws {
    let directory = try TestDirectory()
    let path = directory.path + "/credentials"
    try #require(mkfifo(path, 0o600) == 0)
    let error = await #expect(throws: DiskFailure.self) { _ = try await reader.contents(of: path) }
    #expect(error?.description == "can't read \(path): it is a pipe")
  }

  @Test func aDirectoryInPlaceOfAFileIsNamed() async throws {
    let directory = try TestDirectory()
    let error = await #expect(throws: DiskFailure.self) {
      _ = try await reader.contents(of: directory.path)
    }
    #expect(error?.description == "can't read \(directory.path): it is a directory")
  }

  @Test func aFileThatOthersCanReadIsToldFromOneThatTheyCannot() async throws {
    let directory = try TestDirectory()
    let path = directory.path + "/credentials"
    for (mode, isOpen) in [(0o600, false), (0o640, true), (0o604, true), (0o700, false)] {
      unlink(path)
      let file = open(path, O_CREAT | O_WRONLY, mode_t(mode))
      try #require(file >= 0)
      fchmod(file, mode_t(mode))
      close(file)
      #expect(try await reader.contents(of: path)?.isOpenToOthers == isOpen)
    }
    #expect(try await reader.contents(of: "/dev/null")?.isOpenToOthers == false)
  }

  @Test func theNullDeviceIsAnEmptyFile() async throws {
    #expect(try await reader.contents(of: "/dev/null")?.bytes == [])
  }

  @Test func whatIsNotThereIsNoFailure() async throws {
    let directory = try TestDirectory()
    #expect(try await reader.contents(of: directory.path + "/none") == nil)
  }
}
