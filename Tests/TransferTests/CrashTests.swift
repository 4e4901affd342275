import Core
import Simulation
import Support
import Testing
import Transfer

private let mebibyte = 1 << 20

/// Faults and crashes, one after the other at every step there is.
@Suite struct CrashTests {
  @Test func r4ACheckpointCutAnywhereNeverServesWrongBytes() async throws {
    let bench = try Workbench(size: 3000)
    do {
      let download = try bench.open()
      for lower in [0, 1000, 2000] {
        _ = await download.bytes(ByteRange(offset: lower, count: 700))
        await download.settled()
      }
    }
    let text = try #require(try bench.directory.bytes(of: "checkpoint"))
    let data = try #require(try bench.directory.bytes(of: "data"))
    let whole = ByteRange(0, 3000)
    for length in 0...text.count {
      try bench.directory.write(Array(text[..<length]), to: "checkpoint")
      try bench.directory.write(data, to: "data")
      do {
        let download = try bench.open()
        #expect(await download.bytes(whole) == .success(bench.bytes(whole)), "cut at \(length)")
        await download.settled()
        #expect(try bench.open().cachedByteCount == 3000, "cut at \(length)")
      } catch let error as PartFile.OpenError {
        guard case .damaged = error else {
          Issue.record("cut at \(length): \(error)")
          continue
        }
      }
    }
  }

  @Test(arguments: 0..<60) func r4ADamagedCheckpointNeverServesWrongBytes(seed: UInt64) async throws
  {
    var random = Seeded(seed)
    let bench = try Workbench(size: 3000)
    do {
      let download = try bench.open()
      _ = await download.bytes(ByteRange(0, 2500))
      await download.settled()
    }
    var text = try #require(try bench.directory.bytes(of: "checkpoint"))
    var data = try #require(try bench.directory.bytes(of: "data"))
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      let index = Int.random(in: 0..<text.count, using: &random)
      text[index] = UInt8(ascii: "0") + UInt8.random(in: 0...9, using: &random)
    }
    if Bool.random(using: &random) {
      data[Int.random(in: 0..<data.count, using: &random)] ^= 0x10
    }
    try bench.directory.write(text, to: "checkpoint")
    try bench.directory.write(data, to: "data")
    guard let download = try? bench.open() else { return }
    let whole = ByteRange(0, 3000)
    #expect(await download.bytes(whole) == .success(bench.bytes(whole)), "seed \(seed)")
  }

  @Test func dataShorterThanItsCheckpointIsFetchedAgain() async throws {
    let bench = try Workbench(size: 2 * mebibyte + 100)
    let whole = ByteRange(0, 2 * mebibyte + 100)
    do {
      let download = try bench.open()
      _ = await download.bytes(whole)
      await download.settled()
    }
    let data = try #require(try bench.directory.bytes(of: "data"))
    for size in [0, 1, mebibyte - 1, mebibyte, 2 * mebibyte + 99] {
      try bench.directory.write(Array(data[..<size]), to: "data")
      let download = try bench.open()
      #expect(download.cachedByteCount == size / mebibyte * mebibyte)
      #expect(await download.bytes(whole) == .success(bench.bytes(whole)), "cut at \(size)")
      await download.settled()
    }
  }

  @Test func everyStoreFaultIsReportedOrOvercome() async throws {
    let struck = try await exhaustFaults(
      [
        .fail(.unreachable), .fail(.unreachable, afterByteCount: 20_000), .fail(.accessDenied),
        .loseAnswer(.timedOut),
      ]
    ) { plan in
      let bench = try Workbench(size: 300_000, faults: plan)
      let gate = Gate()
      bench.store.hook = { _, moment in if moment == .request { await gate.wait() } }
      let download = try bench.open()
      let waiters = (0..<6).map { number in
        let range = ByteRange(offset: number * 50_000, count: 50_000)
        return (range, download.begin(range))
      }
      gate.open()
      var failures = 0
      for (range, waiter) in waiters {
        switch await waiter.outcome() {
        case .success(let bytes): #expect(bytes == bench.bytes(range))
        case .failure: failures += 1
        }
        #expect(waiter.all.count == 1)
      }
      await download.settled()
      #expect(failures <= 1, "one fault, one flight, one waiter")
      let whole = ByteRange(0, 300_000)
      #expect(await download.bytes(whole) == .success(bench.bytes(whole)))
      await download.settled()
      #expect(bench.budget.usedByteCount == 0)
    }
    #expect(struck >= 20)
  }

  @Test func everyDiskFaultIsReadAround() async throws {
    for step in [PartFile.DiskStep.writeData, .readData, .appendCheckpoint] {
      for number in 1...12 {
        let bench = try Workbench(size: 100_000, chunkSize: 10_000)
        let whole = ByteRange(0, 100_000)
        do {
          let download = try bench.open()
          _ = await download.bytes(ByteRange(0, 30_000))
          await download.settled()
        }
        let disk = FailingDisk(step, failing: number...number)
        let download = try bench.open(faults: disk.faults)
        for lower in [60_000, 10_000, 0, 90_000] {
          let range = ByteRange(offset: lower, count: 10_000)
          let bytes = await download.bytes(range, ahead: [ByteRange(offset: lower, count: 5)])
          #expect(bytes == .success(bench.bytes(range)), "\(step) \(number)")
        }
        await download.settled()
        let again = try bench.open()
        #expect(await again.bytes(whole) == .success(bench.bytes(whole)), "\(step) \(number)")
        await again.settled()
      }
    }
  }

  @Test func aDiskFullAtOpeningIsReported() throws {
    for step in [PartFile.DiskStep.createData, .writeCheckpoint] {
      let bench = try Workbench(size: 1000)
      let disk = FailingDisk(step)
      guard
        case .disk(let failure) = #expect(
          throws: PartFile.OpenError.self,
          performing: { _ = try bench.open(faults: disk.faults) }
        )
      else {
        Issue.record("\(step) did not fail")
        continue
      }
      #expect(failure.errno == 28)
    }
  }

  @Test func aLineCutByAFullDiskDoesNotSwallowTheNext() async throws {
    let bench = try Workbench(size: 3000)
    let path = bench.directory.file("checkpoint")
    let lineCount = Lock(0)
    let download = try bench.open { (step) throws(DiskFailure) in
      guard step == .appendCheckpoint else { return }
      let isFirst = lineCount.withLock { count in
        count += 1
        return count == 1
      }
      guard isFirst else { return }
      // As much of the line as there is room for.
      let file = try FileDescriptor.open(path, [.readWrite, .append])
      try Array("0 1000 00".utf8).span.bytes.withUnsafeBytes { (bytes) throws(DiskFailure) in
        try file.write(bytes)
      }
      throw DiskFailure(errno: 28, action: "append", reason: "No space left on device")
    }
    for lower in [0, 2000, 1000] {
      _ = await download.bytes(ByteRange(offset: lower, count: 1000))
      await download.settled()
    }
    #expect(lineCount.withLock { $0 } == 3)
    let text = String(decoding: try bench.directory.bytes(of: "checkpoint") ?? [], as: UTF8.self)
    #expect(text.contains("\n0 1000 00\n2000 1000 "), "\(text)")
    #expect(try bench.open().cachedByteCount == 2000)
  }
}
