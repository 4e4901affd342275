import Core
import Glibc
import Testing

@testable import Support

@Suite struct FileDescriptorTests {
  @Test func aFailureNamesTheFile() throws {
    let file = try FileDescriptor.open("/dev/full", .readWrite)
    let failure = #expect(throws: DiskFailure.self) {
      try [UInt8](repeating: 1, count: 10).withUnsafeBytes { try file.write($0) }
    }
    #expect(failure?.errno == ENOSPC)
    #expect(failure?.description.contains("/dev/full") == true)
  }
}
