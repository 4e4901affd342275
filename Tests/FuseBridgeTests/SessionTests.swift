import Core
import Glibc
import Simulation
import Support
import Testing

@testable import FuseBridge

extension MountTests {
  @Suite struct SessionTests {
    private static let options = MountOptions(fsName: "s3://bucket/a b,c")

    @Test func mountShowsItsSourceAndType() throws {
      try withMount(options: Self.options) { mounted in
        let entry = try #require(MountTable.current().top(at: mounted.mountpoint))
        #expect(entry.source == "s3://bucket/a b,c")
        #expect(entry.type == "fuse.dipper")
        #expect(mounted.session.isMounted)
      }
    }

    @Test func fusermountMountsAndUnmounts() throws {
      let files = MemoryFiles()
      files.add("file", noise(100_000))
      try withMount(files, options: Self.options, way: .fusermount) { mounted in
        let bytes = try read(mounted.path("file"), by: 65_536)
        #expect(bytes == noise(100_000))
        let entry = try #require(MountTable.current().top(at: mounted.mountpoint))
        #expect(entry.source == "s3://bucket/a b,c")
        #expect(entry.type == "fuse.dipper")
        try mounted.session.unmount()
        #expect(mounted.waitForEnd() == .ended)
      }
    }

    @Test func unmountEndsTheRun() throws {
      try withMount { mounted in
        try mounted.session.unmount()
        #expect(mounted.waitForEnd() == .ended)
        #expect(!mounted.session.isMounted)
        // Once more does nothing.
        try mounted.session.unmount()
      }
    }

    @Test func foreignUnmountEndsTheRun() throws {
      try withMount { mounted in
        let unmount = try start("fusermount3", "-u", mounted.mountpoint)
        #expect(unmount.end() == .status(0))
        #expect(mounted.waitForEnd() == .ended)
      }
    }

    @Test func busyMountSaysSoAndEndsByExit() throws {
      let files = MemoryFiles()
      files.addParked()
      try withMount(files) { mounted in
        let reader = try start("dd", "if=\(mounted.path("parked"))", "bs=4096", "count=1")
        #expect(eventually { files.parkedCount == 1 })
        let error = #expect(throws: MountError.self) { try mounted.session.unmount() }
        #expect(error?.code == .busy)
        try mounted.session.unmount(lazily: true)
        #expect(!mounted.session.isMounted)
        // Still served: the reader waits for its bytes.
        #expect(mounted.waitForEnd(within: .milliseconds(50)) == .pending)
        mounted.session.exit()
        #expect(mounted.waitForEnd() == .ended)
        let status = try #require(reader.end())
        #expect(status != .status(0))
        #expect(files.takeParked().allSatisfy { !$0.succeed(.bytes([1])) })
      }
    }

    @Test(.enabled(if: geteuid() == 0, "mounting a tmpfs takes root"))
    func coveredMountSaysSo() throws {
      try withMount { mounted in
        let cover = try start("mount", "-t", "tmpfs", "none", mounted.mountpoint)
        try #require(cover.end() == .status(0))
        let error = #expect(throws: MountError.self) { try mounted.session.unmount() }
        #expect(error?.code == .busy)
        let uncover = try start("umount", mounted.mountpoint)
        #expect(uncover.end() == .status(0))
        try mounted.session.unmount()
        #expect(mounted.waitForEnd() == .ended)
      }
    }

    @Test func exitUnmounts() throws {
      try withMount { mounted in
        mounted.session.exit()
        #expect(mounted.waitForEnd() == .ended)
        #expect(MountTable.current().top(at: mounted.mountpoint) == nil)
      }
    }

    @Test func answersAfterTheEndAreDropped() throws {
      let files = MemoryFiles()
      files.addParked()
      let descriptors = descriptorCount()
      try withMount(files) { mounted in
        let readers = try (0..<4).map { _ in
          try start("dd", "if=\(mounted.path("parked"))", "bs=300k", "count=1")
        }
        #expect(eventually { files.parkedCount == 4 })
        mounted.session.exit()
        #expect(mounted.waitForEnd() == .ended)
        for reader in readers { #expect(reader.end() != nil) }
      }
      let file = try UnnamedFile.make(noise(300_000))
      let range = ByteRange(0, 300_000)
      var parked = files.takeParked()
      #expect(parked.popLast()?.succeed(.bytes([1, 2, 3])) == false)
      #expect(
        parked.popLast()?.succeed(.file(descriptor: file.number, range: range)) == false
      )
      parked.popLast()?.fail(FileError(.stale, "late"))
      parked = []  // dropped unanswered
      withExtendedLifetime(file) {
        #expect(eventually { descriptorCount() == descriptors + 1 })
      }
    }

    @Test func cyclesLeaveNoDescriptorAndNoThread() throws {
      let bytes = noise(300_000)
      func cycle() throws {
        let files = MemoryFiles()
        files.add(
          "file",
          .file(try UnnamedFile.make(bytes)),
          size: bytes.count,
          in: .root,
          isDirect: true
        )
        try withMount(files) { mounted in
          let readBytes = try read(mounted.path("file"), by: bytes.count)
          #expect(readBytes == bytes)
        }
      }
      try cycle()
      let descriptors = descriptorCount()
      for _ in 0..<20 { try cycle() }
      #expect(
        eventually { descriptorCount() == descriptors },
        "\(descriptorCount()), not \(descriptors)"
      )
      #expect(eventually { threadCount(named: "dipper-fuse") == 0 })
      #expect(eventually { threadCount(named: "dipper-test") == 0 })
    }

    @Test(.enabled(if: geteuid() == 0, "raising the window takes root"))
    func readAheadIsRaised() throws {
      var options = MountOptions(fsName: "s3://bucket")
      options.readAheadKibibytes = 2048
      try withMount(options: options) { mounted in
        let entry = try #require(MountTable.current().top(at: mounted.mountpoint))
        let path = "/sys/class/bdi/\(entry.device)/read_ahead_kb"
        #expect(eventually { String(decoding: contents(of: path), as: UTF8.self) == "2048\n" })
      }
    }

    @Test func sessionThatWasNeverRunUnmounts() throws {
      let directory = try TestDirectory()
      do {
        let session = FuseSession(
          operations: MemoryFiles(),
          mountpoint: directory.path,
          options: MountOptions(fsName: "s3://bucket")
        )
        try session.mount()
        #expect(session.isMounted)
      }
      #expect(MountTable.current().top(at: directory.path) == nil)
    }

    @Test func secondMountIsRefused() throws {
      try withMount { mounted in
        let second = FuseSession(
          operations: MemoryFiles(),
          mountpoint: mounted.mountpoint,
          options: MountOptions(fsName: "s3://bucket")
        )
        let error = #expect(throws: MountError.self) { try second.mount() }
        #expect(error?.code == .alreadyMounted)
      }
    }

    @Test func runWithoutMountIsRefused() throws {
      let session = FuseSession(
        operations: MemoryFiles(),
        mountpoint: "/",
        options: MountOptions(fsName: "s3://bucket")
      )
      let error = #expect(throws: MountError.self) { try session.run() }
      #expect(error?.code == .notMounted)
      session.exit()
      try session.unmount()
    }
  }
}

/// How many descriptors this process has open.
private func descriptorCount() -> Int {
  ((try? names(in: "/proc/self/fd")) ?? []).count
}

/// How many threads of this process have this name.
private func threadCount(named name: String) -> Int {
  ((try? names(in: "/proc/self/task")) ?? []).count { thread in
    contents(of: "/proc/self/task/\(thread)/comm") == Array("\(name)\n".utf8)
  }
}
