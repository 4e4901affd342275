import Core
import Glibc
import Testing

@testable import FuseBridge

@Suite struct MounterTests {
  private let options = MountOptions(fsName: "s3://bucket")

  private func code(at path: String) -> MountError.Code? {
    do throws(MountError) {
      _ = try Mounter(path: path, options: options)
      return nil
    } catch {
      return error.code
    }
  }

  @Test func missingMountpointIsNamed() throws {
    #expect(code(at: "/nonexistent/dipper") == .mountpointMissing)
  }

  @Test func mountpointMustBeADirectory() throws {
    #expect(code(at: "/etc/passwd") == .notDirectory)
    #expect(code(at: "/etc/passwd/x") == .notDirectory)
  }

  @Test func everyFailureOfTheSystemIsOneSentence() {
    for number in 1...133 as ClosedRange<Int32> {
      let errors = [
        Mounter.mountpointFailure("/mnt", number),
        Mounter.deviceFailure(number),
        Mounter.mountFailure("/mnt", number, options: ["a", "b"]),
        Mounter.unmountFailure("/mnt", number),
        Mounter.fusermountFailure(number),
      ]
      for error in errors {
        #expect(!error.message.isEmpty)
        #expect(!error.message.contains("\n"))
        #expect(!error.message.hasSuffix("."))
      }
    }
  }

  @Test func failuresAreToldApart() {
    #expect(Mounter.mountpointFailure("/mnt", ENOTCONN).code == .stale)
    #expect(Mounter.mountpointFailure("/mnt", EACCES).code == .permissionDenied)
    #expect(Mounter.deviceFailure(ENOENT).code == .deviceMissing)
    #expect(Mounter.deviceFailure(EACCES).code == .deviceNotPermitted)
    #expect(Mounter.mountFailure("/mnt", EPERM, options: []).code == .deviceNotPermitted)
    #expect(Mounter.mountFailure("/mnt", EBUSY, options: []).code == .alreadyMounted)
    #expect(Mounter.unmountFailure("/mnt", EBUSY).code == .busy)
    #expect(Mounter.unmountFailure("/mnt", EINVAL).code == .notMounted)
    #expect(Mounter.fusermountFailure(ENOENT).code == .fusermountMissing)
  }

  // Source: what fusermount3 3.14.0 prints.
  @Test(arguments: [
    ("failed to unmount /mnt: Device or resource busy", MountError.Code.busy),
    ("failed to open /etc/mtab: No such file or directory", .refused),
    ("entry for /mnt not found in /etc/mtab", .notMounted),
    ("failed to unmount /mnt: Operation not permitted", .refused),
  ])
  func whatFusermountPrintsIsNotAlwaysBusy(words: String, code: MountError.Code) {
    let error = Mounter.fusermountRefusal("/mnt", "fusermount3: " + words)
    #expect(error.code == code)
    #expect(error.message.contains(words))
    #expect(error.message.contains("ln -s") == words.contains("failed to open /etc/mtab"))
  }

  @Test(arguments: [
    ("", false), ("user_allow_other\n", true), ("  user_allow_other # for all\n", true),
    ("#user_allow_other\n", false), ("mount_max = 10\nuser_allow_other", true),
    ("user_allow_others\n", false),
  ])
  func fuseConfigurationSaysWhoMayLetOthersIn(text: String, allowsOther: Bool) {
    #expect(FuseConfiguration(text: text).allowsOther == allowsOther)
  }
}

@Suite struct MountArgumentsTests {
  // mount(2)'s flags. Source: linux/mount.h.
  private let readOnly: UInt = 1
  private let noSuid: UInt = 2
  private let noDev: UInt = 4
  private let noExec: UInt = 8

  @Test func defaultsAreSafe() {
    let arguments = MountArguments(MountOptions(fsName: "s3://bucket"))
    #expect(arguments.flags == noSuid | noDev)
    #expect(arguments.type == "fuse.dipper")
    #expect(arguments.source == "s3://bucket")
    #expect(
      arguments.data(descriptor: 7, rootMode: 0o40000, userID: 1, groupID: 2)
        == "fd=7,rootmode=40000,user_id=1,group_id=2,default_permissions,max_read=524288"
    )
    #expect(
      arguments.fusermountOptions
        == "fsname=s3://bucket,subtype=dipper,default_permissions,max_read=524288"
    )
  }

  @Test func flagsAreFlagsAndTheRestIsData() {
    var options = MountOptions(fsName: "s3://bucket")
    options.isReadOnly = true
    options.allowsOther = true
    options.extraOptions = [
      "noexec", "suid", "x-systemd.automount", "_netdev", "max_read=65536", "allow_other",
    ]
    let arguments = MountArguments(options)
    #expect(arguments.flags == readOnly | noDev | noExec)
    #expect(arguments.kernelOptions == ["default_permissions", "allow_other", "max_read=65536"])
    #expect(
      arguments.fusermountOptions
        == "fsname=s3://bucket,subtype=dipper,noexec,suid,ro,default_permissions,allow_other,max_read=65536"
    )
  }

  @Test func nameCannotSmuggleOptionsIn() {
    let arguments = MountArguments(MountOptions(fsName: "a,suid\\,b\nc\0d"))
    #expect(arguments.source == "a,suid\\,bcd")
    #expect(arguments.fusermountOptions.hasPrefix("fsname=a\\,suid\\\\\\,bcd,subtype=dipper,"))
    #expect(arguments.flags == noSuid | noDev)
  }
}
