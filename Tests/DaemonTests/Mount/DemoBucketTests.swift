import Glibc
import Simulation
import Support
import Testing

@testable import Daemon

@Suite
struct DemoBucketTests {
  @Test
  func theSampleIsWholeAndMadeOnce() throws {
    let place = try TestDirectory()
    let first = try DemoBucket.make(in: place.path + "/a/b")
    let numbers = try FileDescriptor.open(first.directory + "/big/numbers.bin", .read)
    #expect(try numbers.size() == DemoBucket.largestSize)
    let before = try SmallFile.read(first.directory + "/README.txt")
    #expect(try DemoBucket.make(in: place.path + "/a/b") == first)
    #expect(try SmallFile.read(first.directory + "/README.txt") == before)
    #expect(first.url == "file://\(place.path)/a/b/bucket")
  }

  @Test
  func theArchiveIsOneThatTarReads() throws {
    let place = try TestDirectory()
    let bucket = try DemoBucket.make(in: place.path)
    let null = try FileDescriptor.open("/dev/null", .readWrite)
    let output = place.path + "/list"
    let list = try FileDescriptor.open(output, [.readWrite, .create])
    let words = ["tar", "-tf", bucket.directory + "/archive.tar"].map { Array($0.utf8) }
    let child = try Subprocess.start("tar", arguments: words, descriptors: [null, list, null])
    #expect(child.wait() == .exited(0))
    let names = String(decoding: try SmallFile.read(output), as: UTF8.self).split(separator: "\n")
    #expect(names.contains("notes/2026/three.txt"))
    #expect(names.count == 5)
  }
}
