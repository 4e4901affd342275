import Core
import Glibc
import Support
import Testing

@testable import FuseBridge

/// All tests with a mount, one after the other: some count descriptors and threads.
@Suite(.serialized) enum MountTests {}

extension MountTests {
  @Suite struct ReadingTests {
    private let bytes = noise(5 * 1024 * 1024 + 17)

    @Test(arguments: [4096, 12_347, 65_537, 131_072, 1_048_576, 3_000_001])
    func bytesAreThoseOfTheFile(size: Int) throws {
      let files = MemoryFiles()
      let file = try unlinkedFile(bytes)
      files.add("buffered", .file(file), size: bytes.count, in: .root, isDirect: false)
      files.add("direct", .file(file), size: bytes.count, in: .root, isDirect: true)
      files.add("memory", bytes)
      try withMount(files) { mounted in
        for name in ["buffered", "direct", "memory"] {
          let readBytes = try read(mounted.path(name), by: size)
          #expect(readBytes == bytes, "\(name)")
        }
        #expect(eventually { files.openCount == 0 })
      }
    }
  }
}
