import CFuse
import Core
import Glibc
import Simulation
import Support
import Testing

@testable import FuseBridge

/// All tests with a mount, one after the other: some count descriptors and threads.
@Suite(.serialized, .enabled(if: access("/dev/fuse", R_OK | W_OK) == 0, "no access to /dev/fuse"))
enum MountTests {}

extension MountTests {
  @Suite struct ReadingTests {
    private static let bytes = noise(5 * 1024 * 1024 + 17)

    @Test(arguments: [4096, 12_347, 65_537, 131_072, 1_048_576, 3_000_001])
    func bytesAreThoseOfTheFile(size: Int) throws {
      let bytes = Self.bytes
      let files = MemoryFiles()
      let file = try UnnamedFile.make(bytes)
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

    @Test func mappedBytesAreThoseOfTheFile() throws {
      let bytes = Self.bytes
      let files = MemoryFiles()
      files.add(
        "file",
        .file(try UnnamedFile.make(bytes)),
        size: bytes.count,
        in: .root,
        isDirect: false
      )
      try withMount(files) { mounted in
        let file = try FileDescriptor.open(mounted.path("file"), .read)
        let address = try #require(mmap(nil, bytes.count, PROT_READ, MAP_PRIVATE, file.number, 0))
        try #require(address != MAP_FAILED)
        defer { munmap(address, bytes.count) }
        let mapped = UnsafeRawBufferPointer(start: address, count: bytes.count)
        #expect(mapped.elementsEqual(bytes))
      }
    }

    @Test func kernelAsksForAsMuchAsCanBeSpliced() throws {
      let files = MemoryFiles()
      files.add("direct", Self.bytes, isDirect: true)
      try withMount(files) { mounted in
        let file = try FileDescriptor.open(mounted.path("direct"), .read)
        // Aligned: the kernel has no room for the page more that other buffers touch.
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
        defer { buffer.deallocate() }
        #expect(try file.read(into: buffer, at: 0) == 1 << 20)
        #expect(files.readSizes == [1 << 19, 1 << 19])
      }
    }

    @Test(arguments: [4096, 200_000, 1_000_000])
    func shorterFileThanPromisedIsAnInputOutputError(size: Int) throws {
      let files = MemoryFiles()
      let file = try UnnamedFile.make(noise(size - 1))
      files.add("short", .file(file), size: size, in: .root, isDirect: true)
      // All in one request, whichever way it is answered.
      var options = MountOptions(fsName: "s3://bucket")
      options.readSizeMax = 1 << 20
      try withMount(files, options: options) { mounted in
        let reader = try FileDescriptor.open(mounted.path("short"), .read)
        var buffer = [UInt8](repeating: 0, count: size)
        #expect(errnoOf { Int32(clamping: Glibc.read(reader.number, &buffer, size)) } == EIO)
      }
    }

    @Test func attributesAreThoseOfTheAnswer() throws {
      let files = MemoryFiles()
      files.add("file", noise(1025))
      try withMount(files) { mounted in
        var status = stat()
        try #require(stat(mounted.path("file"), &status) == 0)
        #expect(status.st_ino == 1003)
        #expect(status.st_mode == S_IFREG | 0o644)
        #expect(status.st_size == 1025)
        #expect(status.st_blocks == 3)
        #expect(status.st_blksize == 128 * 1024)
        #expect(status.st_uid == 1234)
        #expect(status.st_gid == 4321)
        #expect(status.st_mtim.tv_sec == 1_700_000_000)
        #expect(status.st_mtim.tv_nsec == 123_456_789)
      }
    }

    @Test func statisticsAreThoseOfTheAnswer() throws {
      try withMount { mounted in
        var status = statvfs()
        try #require(statvfs(mounted.mountpoint, &status) == 0)
        #expect(status.f_bsize == 4096)
        #expect(status.f_blocks == 1 << 40)
        #expect(status.f_bavail == 1 << 39)
        #expect(status.f_files == 7)
        #expect(status.f_ffree == 5)
        #expect(status.f_namemax == 255)
      }
    }
  }
}
