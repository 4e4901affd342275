import Core
import Glibc
import Simulation
import Support
import Testing

@testable import FuseBridge

extension MountTests {
  @Suite struct InterruptTests {
    @Test(arguments: [SIGINT, SIGKILL])
    func signalledReaderIsGoneAtOnce(signal: Int32) throws {
      let files = MemoryFiles()
      files.addParked()
      try withMount(files) { mounted in
        let reader = try start("dd", "if=\(mounted.path("parked"))", "bs=4096", "count=1")
        #expect(eventually { files.parkedCount == 1 })
        #expect(files.interruptCount == 0)
        reader.signal(signal)
        let status = try #require(reader.end(), "the reader is still there")
        #expect(status == .signal(signal))
        #expect(eventually { files.interruptCount == 1 })
        // The answer that comes too late finds the request answered.
        #expect(files.takeParked().allSatisfy { !$0.succeed(.bytes([1])) })
        #expect(eventually { files.openCount == 0 })
      }
    }

    @Test func answeredReadIsNotInterrupted() throws {
      let files = MemoryFiles()
      files.addParked()
      try withMount(files) { mounted in
        let reader = try start("dd", "if=\(mounted.path("parked"))", "bs=4096", "count=1")
        #expect(eventually { files.parkedCount == 1 })
        #expect(files.takeParked().allSatisfy { $0.succeed(.bytes(noise(4096))) })
        #expect(reader.end() == .status(0))
        #expect(files.interruptCount == 0)
      }
    }

    /// Signals that come at any time, before, while and after requests are registered.
    @Test func everyReadOfASignalledCrowdEnds() throws {
      let files = MemoryFiles()
      files.addParked()
      try withMount(files) { mounted in
        for delay in 0..<20 {
          let readers = try (0..<4).map { _ in
            try start("dd", "if=\(mounted.path("parked"))", "bs=4096", "count=1")
          }
          usleep(UInt32(delay) * 300)
          for reader in readers { reader.signal(SIGINT) }
          for reader in readers {
            try #require(reader.end() != nil)
          }
        }
        #expect(files.interruptCount <= files.parkedCount)
        #expect(files.takeParked().allSatisfy { !$0.succeed(.bytes([1])) })
      }
    }
  }
}

@Suite struct InterruptTableTests {
  private let first = RequestToken(16)
  private let second = RequestToken(32)

  @Test func interruptRunsTheActionOnce() {
    var table = InterruptTable()
    let number = table.registrationBegan(of: first) {}
    #expect(table.registrationEnded(number) == nil)
    #expect(table.interrupted(number) != nil)
    #expect(table.interrupted(number) == nil)
    #expect(table.count == 0)
  }

  @Test func interruptDuringTheRegistrationRunsAfterIt() {
    var table = InterruptTable()
    let number = table.registrationBegan(of: first) {}
    #expect(table.interrupted(number) == nil)
    #expect(table.registrationEnded(number) != nil)
    #expect(table.interrupted(number) == nil)
    #expect(table.count == 0)
  }

  @Test func answerEndsTheRegistration() {
    var table = InterruptTable()
    let number = table.registrationBegan(of: first) {}
    #expect(table.registrationEnded(number) == nil)
    table.answered(second)
    #expect(table.count == 1)
    table.answered(first)
    #expect(table.count == 0)
    #expect(table.interrupted(number) == nil)
  }

  @Test func lateInterruptOfAReusedAddressFindsNothing() {
    var table = InterruptTable()
    let old = table.registrationBegan(of: first) {}
    _ = table.registrationEnded(old)
    table.answered(first)
    let new = table.registrationBegan(of: first) {}
    _ = table.registrationEnded(new)
    #expect(table.interrupted(old) == nil)
    #expect(table.interrupted(new) != nil)
  }
}
