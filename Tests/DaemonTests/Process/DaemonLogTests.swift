import Core
import Daemon
import Simulation
import Support
import Testing

@Suite
struct DaemonLogTests {
  @Test
  func theSystemsLogIsUsedWithoutAWord() throws {
    let home = try TestDirectory()
    let socket = try LocalSocket.receiveDatagrams(at: home.path + "/log")
    let place = DaemonLog(
      mountpoint: "/m",
      system: SystemLog(path: home.path + "/log"),
      directories: [RuntimeDirectory(path: home.path + "/run")]
    )
    #expect(place.note == nil)
    guard case .system = place.target else {
      Issue.record("not the system's log")
      return
    }
    withExtendedLifetime(socket) {}
  }

  @Test
  func withoutOneAFileIsMadeWhenNeeded() throws {
    let home = try TestDirectory()
    let directory = RuntimeDirectory(path: home.path + "/run")
    let place = DaemonLog(
      mountpoint: "/m",
      system: SystemLog(path: home.path + "/log"),
      directories: [RuntimeDirectory(path: home.path + "/a/b"), directory]
    )
    let path = directory.logPath(for: "/m")
    #expect(place.note == nil)
    #expect(Log(target: place.target).place == path)
    #expect(try Disk.status(of: path) == nil)
    Log(target: place.target).write(.warning, "hello")
    #expect(String(decoding: try SmallFile.read(path), as: UTF8.self).contains("hello"))
  }

  @Test
  func whereNothingCanBeKeptItIsSaid() throws {
    let home = try TestDirectory()
    let place = DaemonLog(
      mountpoint: "/m",
      system: SystemLog(path: home.path + "/log"),
      directories: [RuntimeDirectory(path: home.path + "/a/b")]
    )
    #expect(place.note?.contains("--log-file") == true)
  }
}
