import Simulation
import Support
import Testing
import Transfer

@Suite struct LockFileTests {
  /// A holder that goes takes the file along, so whoever opened it before may lock one without a name.
  @Test func oneAloneHoldsALockHoweverTheyComeAndGo() async throws {
    let directory = try TestDirectory()
    let path = directory.file("lock")
    let threadCount = 4
    let pool = BlockingPool(threadCount: threadCount)
    let (holderCount, sharedCount) = (Lock(0), Lock(0))
    let takenCounts = try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 0..<threadCount {
        group.addTask {
          try await pool.run { () throws(LockFile.LockError) in
            var takenCount = 0
            for _ in 0..<2000 {
              let lock: LockFile
              do throws(LockFile.LockError) {
                lock = try LockFile.acquire(path, holder: "\(number)")
              } catch {
                guard case .held = error else { throw error }
                continue
              }
              takenCount += 1
              let isAlone = holderCount.withLock { count in
                count += 1
                return count == 1
              }
              if !isAlone { sharedCount.withLock { $0 += 1 } }
              holderCount.withLock { $0 -= 1 }
              try? lock.removeFile()
            }
            return takenCount
          }
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(sharedCount.withLock { $0 } == 0)
    #expect(takenCounts.count == threadCount)
    #expect(takenCounts.allSatisfy { $0 > 0 })
    #expect(!directory.exists("lock"))
  }

  @Test func aLockThatLostItsFileLeavesTheNextOneAlone() throws {
    let directory = try TestDirectory()
    let path = directory.file("lock")
    let first = try LockFile.acquire(path, holder: "the first")
    try Disk.removeFile(path)
    let second = try LockFile.acquire(path, holder: "the second")
    #expect(try !first.isInPlace())
    try first.removeFile()
    #expect(try second.isInPlace())
    #expect(throws: LockFile.LockError.held(by: "pid \(Disk.processID): the second")) {
      _ = try LockFile.acquire(path, holder: "the third")
    }
  }
}
