import Core
import Glibc
import Simulation
import Support
import Testing

@testable import FuseBridge

extension MountTests {
  @Suite struct DirectoryTests {
    private static let count = 3000

    private static func files() -> (MemoryFiles, [String]) {
      let files = MemoryFiles()
      // Lengths that differ, so that pages end at many different places.
      let names = (0..<count).map { index in
        "file-\(index)-" + String(repeating: "x", count: index * 7 % 230)
      }
      for name in names { files.add(name, [], in: MemoryFiles.many) }
      return (files, names)
    }

    @Test func listingIsCompleteAndInOrder() throws {
      let (files, expected) = Self.files()
      try withMount(files) { mounted in
        for _ in 0..<2 {
          let listed = try names(in: mounted.path("many"))
          #expect(listed == [".", ".."] + expected)
        }
        #expect(eventually { files.openCount == 0 })
      }
    }

    @Test func listedEntriesHaveTheirAttributes() throws {
      let (files, expected) = Self.files()
      try withMount(files) { mounted in
        // Looking at attributes makes the kernel ask for them with the next pages.
        let listed = try names(in: mounted.path("many"))
        #expect(listed.count == Self.count + 2)
        for (index, name) in expected.enumerated() {
          var status = stat()
          try #require(stat(mounted.path("many/\(name)"), &status) == 0)
          try #require(status.st_ino == UInt(index) + 1003)
        }
      }
    }

    @Test(.enabled(if: geteuid() == 0, "remounting takes root"))
    func countedLookupsAreForgotten() throws {
      let (files, _) = Self.files()
      try withMount(files) { mounted in
        _ = try names(in: mounted.path("many"))
        // The first page comes with attributes, the others only if somebody looked at them.
        #expect(files.lookupCount > 100, "no lookups were counted by listing")
        // A remount drops what the kernel has cached of this file system. -i: no mount.fuse.
        let isForgotten = eventually {
          let remount = try? start("mount", "-i", "-o", "remount,ro", mounted.mountpoint)
          _ = remount?.end()
          return files.lookupCount == 0
        }
        #expect(isForgotten, "\(files.lookupCount) lookups are left")
      }
    }

    @Test func eightLookupsInOneDirectoryWaitTogether() throws {
      let files = MemoryFiles()
      try withMount(files) { mounted in
        let results = Monitor<[Int32]>([])
        let start = SystemClock().now
        for index in 0..<8 {
          try Thread.require("dipper-test") {
            var status = stat()
            let number = errnoOf { stat(mounted.path("slow-\(index)"), &status) }
            results.withLock { $0.append(number) }
          }
        }
        let numbers = results.wait { results, _ in results.count == 8 ? results : nil }
        #expect(SystemClock().now - start < .milliseconds(500))
        #expect(numbers.allSatisfy { $0 == ENOENT })
        #expect(files.slowCountMax == 8)
      }
    }

    @Test func handshakeAsksForParallelLookups() throws {
      try withMount { mounted in
        _ = try names(in: mounted.mountpoint)
        let (offered, agreed) = mounted.session.initFlags
        for bit in [18, 28] as [UInt64] {
          #expect(agreed >> bit & 1 == offered >> bit & 1, "bit \(bit)")
        }
        #expect(agreed & ~offered & 0xffff_ffff == 0, "a flag that the kernel did not offer")
      }
    }
  }
}
