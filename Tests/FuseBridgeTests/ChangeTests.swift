import CFuse
import Core
import Glibc
import Support
import Testing

@testable import FuseBridge

extension MountTests {
  /// What programs change arrives as it was meant.
  @Suite struct ChangeTests {
    private func withFile(_ body: (Mounted, MemoryFiles) throws -> Void) throws {
      let files = MemoryFiles()
      files.add("file", noise(10))
      var options = MountOptions(fsName: "s3://bucket")
      // So that root of a user's mount and others get as far as we do.
      options.usesDefaultPermissions = false
      try withMount(files, options: options) { try body($0, files) }
    }

    @Test func aReadOnlyMountRefusesEveryChange() throws {
      let calls = try ExtendedAttributeCalls()
      let files = MemoryFiles()
      files.add("file", noise(10))
      var options = MountOptions(fsName: "s3://bucket")
      options.isReadOnly = true
      options.usesDefaultPermissions = false
      try withMount(files, options: options) { mounted in
        let (file, new) = (mounted.path("file"), mounted.path("new"))
        #expect(errnoOf { creat(new, 0o644) } == EROFS)
        #expect(errnoOf { mkdir(new, 0o755) } == EROFS)
        #expect(errnoOf { mkfifo(new, 0o644) } == EROFS)
        #expect(errnoOf { symlink("x", new) } == EROFS)
        #expect(errnoOf { link(file, new) } == EROFS)
        #expect(errnoOf { unlink(file) } == EROFS)
        #expect(errnoOf { rmdir(mounted.path("many")) } == EROFS)
        #expect(errnoOf { rename(file, new) } == EROFS)
        #expect(errnoOf { chmod(file, 0o600) } == EROFS)
        #expect(errnoOf { truncate(file, 0) } == EROFS)
        #expect(errnoOf { calls.set(file, "user.a", "b", 1, 0) } == EROFS)
        #expect(errnoOf { calls.remove(file, "user.long") } == EROFS)
      }
    }

    @Test func aFileIsMadeWrittenAndClosed() throws {
      try withFile { mounted, files in
        let file = open(mounted.path("new"), O_CREAT | O_EXCL | O_WRONLY, 0o640)
        try #require(file >= 0)
        #expect(pwrite(file, "hello", 5, 3) == 5)
        #expect(fsync(file) == 0)
        #expect(close(file) == 0)
        #expect(
          files.changes == [
            "create new exclusively 0640 \(getuid()):\(getgid())", "write 5 at 3", "fsync new",
            "flush new",
          ]
        )
      }
    }

    @Test func aWriteCostsNoOtherRequestAndComesWhole() throws {
      try withFile { mounted, files in
        let file = open(mounted.path("file"), O_WRONLY)
        try #require(file >= 0)
        files.clearChanges()
        let bytes = noise(1 << 20)
        #expect(pwrite(file, bytes, bytes.count, 0) == bytes.count)
        #expect(files.changes == ["write 1048576 at 0"])
        #expect(close(file) == 0)
        #expect(try read(mounted.path("file"), by: 4096) == bytes)
      }
    }

    @Test func whatIsAppendedGoesToTheEndAndAPageToItsPlace() throws {
      try withFile { mounted, files in
        let file = open(mounted.path("file"), O_RDWR | O_APPEND)
        try #require(file >= 0)
        #expect(write(file, "x", 1) == 1)
        let page = mmap(nil, 11, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
        try #require(page != MAP_FAILED)
        page?.storeBytes(of: 65, as: UInt8.self)
        #expect(msync(page, 11, MS_SYNC) == 0)
        munmap(page, 11)
        close(file)
        #expect(files.changes.first { $0.hasPrefix("write 1 ") } == "write 1 at the end")
        #expect(files.changes.contains("write 11 at 0"), "\(files.changes)")
      }
    }

    @Test func anOpenThatEmptiesIsOneRequest() throws {
      try withFile { mounted, files in
        let file = open(mounted.path("file"), O_WRONLY | O_TRUNC)
        try #require(file >= 0)
        close(file)
        #expect(files.changes == ["open to write, emptied", "flush file"])
      }
    }

    @Test func aFailedCloseIsTold() throws {
      try withFile { mounted, _ in
        let file = open(mounted.path("unstorable"), O_CREAT | O_WRONLY, 0o644)
        try #require(file >= 0)
        #expect(errnoOf { close(file) } == ENOSPC)
      }
    }

    @Test func whoOnlyReadsClosesWithoutARequest() throws {
      try withFile { mounted, files in
        let file = open(mounted.path("file"), O_RDONLY)
        try #require(file >= 0)
        close(file)
        // Whatever came before it has come.
        #expect(mkdir(mounted.path("later"), 0o755) == 0)
        #expect(files.changes == ["open", "mkdir later 0755"])
      }
    }

    @Test func namesAreChanged() throws {
      let calls = try FileCalls()
      try withFile { mounted, files in
        #expect(mkdir(mounted.path("d"), 0o750) == 0)
        #expect(symlink("a/b", mounted.path("l")) == 0)
        #expect(mknod(mounted.path("n"), S_IFREG | 0o600, 0) == 0)
        #expect(rename(mounted.path("n"), mounted.path("m")) == 0)
        #expect(calls.rename(mounted.path("file"), mounted.path("o"), 1) == 0)
        #expect(unlink(mounted.path("l")) == 0)
        #expect(rmdir(mounted.path("d")) == 0)
        #expect(
          files.changes == [
            "mkdir d 0750", "symlink l a/b", "mknod n 0600", "rename n m",
            "rename file o, keeping", "unlink l", "rmdir d",
          ]
        )
      }
    }

    @Test func aLinkIsRead() throws {
      try withFile { mounted, _ in
        #expect(symlink("x", mounted.path("l")) == 0)
        var target = [CChar](repeating: 0, count: 100)
        let count = readlink(mounted.path("l"), &target, target.count)
        #expect(count == 14)
        #expect(target.prefix(14).map { UInt8($0) } == Array("where/it/leads".utf8))
      }
    }

    @Test func whatABucketCannotHoldIsRefused() throws {
      let calls = try FileCalls()
      try withFile { mounted, files in
        let (file, new) = (mounted.path("file"), mounted.path("new"))
        #expect(errnoOf { link(file, new) } == EPERM)
        #expect(errnoOf { mkfifo(new, 0o644) } == EPERM)
        #expect(errnoOf { mknod(new, S_IFCHR | 0o644, 0) } == EPERM)
        #expect(errnoOf { calls.rename(file, mounted.path("many"), 2) } == EINVAL)
        #expect(files.changes == [])
      }
    }

    @Test func attributesAreChanged() throws {
      let calls = try ExtendedAttributeCalls()
      try withFile { mounted, files in
        let path = mounted.path("file")
        #expect(chmod(path, 0o600) == 0)
        #expect(chown(path, 7, 8) == 0)
        #expect(truncate(path, 5) == 0)
        let times = [timespec(tv_sec: 1, tv_nsec: 2), timespec(tv_sec: 3, tv_nsec: 4)]
        #expect(utimensat(AT_FDCWD, path, times, 0) == 0)
        #expect(utimensat(AT_FDCWD, path, nil, 0) == 0)
        #expect(calls.set(path, "user.a", "b", 1, 1) == 0)
        #expect(calls.remove(path, "user.a") == 0)
        #expect(
          files.changes == [
            "setattr mode 0600", "setattr user 7 group 8", "setattr size 5",
            "setattr time 3000000004", "setattr time now", "setxattr user.a b creates",
            "removexattr user.a",
          ]
        )
      }
    }

    @Test func roomIsMadeAndTaken() throws {
      let calls = try FileCalls()
      try withFile { mounted, files in
        let file = open(mounted.path("file"), O_WRONLY)
        try #require(file >= 0)
        files.clearChanges()
        #expect(calls.allocate(file, 0, 0, 100) == 0)
        #expect(calls.allocate(file, 1, 100, 50) == 0)
        #expect(calls.allocate(file, 3, 10, 20) == 0)
        #expect(calls.allocate(file, 16, 0, 4) == 0)
        #expect(errnoOf { calls.allocate(file, 8, 0, 4096) } == EOPNOTSUPP)
        #expect(
          files.changes == [
            "fallocate 0 to 100 reserved", "fallocate 100 to 150 reservedBehindEnd",
            "fallocate 10 to 30 hole", "fallocate 0 to 4 zeros",
          ]
        )
        close(file)
      }
    }
  }
}
