import Glibc
import Testing

@testable import Support

@Suite struct ProcessDescriptorsTests {
  private func text(_ flags: String, _ inode: String) -> [UInt8] {
    Array("pos:\t0\nflags:\t\(flags)\nmnt_id:\t29\nino:\t\(inode)\n".utf8)
  }

  @Test func onlyWhoMayWriteToTheFileIsAWriter() {
    #expect(ProcessDescriptors.isWriter(text("0100001", "42"), of: 42))
    #expect(ProcessDescriptors.isWriter(text("02100002", "42"), of: 42))
    #expect(!ProcessDescriptors.isWriter(text("0100000", "42"), of: 42))
    #expect(!ProcessDescriptors.isWriter(text("0100001", "43"), of: 42))
  }

  @Test(arguments: [
    "", "flags:\t0100001\n", "ino:\t42\n", "flags:\t9\nino:\t42\n", "flags: 01\nino: 42",
  ])
  func whatIsNotToldIsNoWriter(_ text: String) {
    #expect(!ProcessDescriptors.isWriter(Array(text.utf8), of: 42))
  }

  @Test func aProcessWithoutSuchADescriptorHasNone() {
    #expect(!ProcessDescriptors.hasWriter(of: 1 << 60, in: getpid()))
    #expect(!ProcessDescriptors.hasWriter(of: 42, in: 0))
  }
}
