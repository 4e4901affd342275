import Core
import Simulation
import Support
import Testing
import Transfer

private let mebibyte = 1 << 20

@Suite struct DownloadTests {
  @Test func missedBytesComeFromTheStoreAndThenFromTheDisk() async throws {
    let bench = try Workbench(size: 3 * mebibyte + 5)
    let download = try bench.open()
    let whole = ByteRange(0, 3 * mebibyte + 5)
    #expect(await download.bytes(whole) == .success(bench.bytes(whole)))
    #expect(await download.bytes(ByteRange(7, 100)) == .success(bench.bytes(ByteRange(7, 100))))
    #expect(bench.fetched == [whole])
    let counts = bench.environment.metrics.snapshot
    #expect(counts.hitByteCount == 93 && counts.missByteCount == whole.count)
  }

  @Test func r3AReaderIsAnsweredWhileItsPartIsStillComing() async throws {
    let bench = try Workbench(size: 2 * mebibyte)
    let gate = Gate()
    bench.store.hook = { _, moment in
      if case .body(let sent) = moment, sent >= 64 << 10 { await gate.wait() }
    }
    let download = try bench.open()
    let range = ByteRange(0, 4096)
    let part = ByteRange(0, 2 * mebibyte)
    #expect(await download.bytes(range, demand: part) == .success(bench.bytes(range)))
    #expect(download.progress.flights.map(\.upperBound) == [2 * mebibyte])
    gate.open()
    await download.settled()
    #expect(bench.fetched == [part])
  }

  @Test func twoReadersShareOneRequest() async throws {
    let bench = try Workbench(size: mebibyte)
    let gate = Gate()
    bench.store.hook = { _, moment in if moment == .request { await gate.wait() } }
    let download = try bench.open()
    let whole = ByteRange(0, mebibyte)
    let first = download.begin(ByteRange(0, 10), demand: whole)
    let second = download.begin(ByteRange(5, 20), demand: whole)
    gate.open()
    #expect(await first.outcome() == .success(bench.bytes(ByteRange(0, 10))))
    #expect(await second.outcome() == .success(bench.bytes(ByteRange(5, 20))))
    await download.settled()
    #expect(bench.fetched == [whole])
  }

  @Test func r4NothingRecordedIsFetchedAgain() async throws {
    let bench = try Workbench(size: 4 * mebibyte)
    let first = ByteRange(0, 2 * mebibyte)
    do {
      let download = try bench.open()
      #expect(await download.bytes(first) == .success(bench.bytes(first)))
      await download.settled()
    }
    let download = try bench.open()
    #expect(download.cachedByteCount == 2 * mebibyte)
    let whole = ByteRange(0, 4 * mebibyte)
    #expect(await download.bytes(whole) == .success(bench.bytes(whole)))
    #expect(bench.fetched == [first, ByteRange(2 * mebibyte, 4 * mebibyte)])
  }

  @Test func r4TheEndOfALargeFlightIsRecordedToo() async throws {
    let bench = try Workbench(size: 2 * mebibyte + 17)
    let download = try bench.open()
    _ = await download.bytes(ByteRange(0, bench.version.size))
    await download.settled()
    #expect(bench.fetched == [ByteRange(0, bench.version.size)])
    #expect(try bench.open().cachedByteCount == bench.version.size)
  }

  @Test func r4AKilledFlightKeepsItsFinishedUnits() async throws {
    let bench = try Workbench(size: 4 * mebibyte)
    let gate = Gate()
    bench.store.hook = { _, moment in
      if case .body(let sent) = moment, sent >= 2 * mebibyte + 1000 { await gate.wait() }
    }
    let whole = ByteRange(0, 4 * mebibyte)
    let killed = try bench.open()
    let waiter = killed.begin(whole)
    #expect(await eventually { killed.cachedByteCount > 2 * mebibyte })
    // As after kill -9: nothing is closed, another process opens what is on disk.
    let download = try bench.open()
    #expect(download.cachedByteCount == 2 * mebibyte)
    gate.open()
    _ = await waiter.outcome()
    await killed.settled()
  }

  @Test func r4TamperedBytesAreFetchedAgainNotServed() async throws {
    let bench = try Workbench(size: 3 * mebibyte)
    let whole = ByteRange(0, 3 * mebibyte)
    do {
      let download = try bench.open()
      _ = await download.bytes(whole)
      await download.settled()
    }
    var data = try #require(try bench.directory.bytes(of: "data"))
    data[mebibyte + 17] ^= 1
    try bench.directory.write(data, to: "data")
    bench.store.forgetCalls()
    let download = try bench.open()
    #expect(await download.bytes(whole) == .success(bench.bytes(whole)))
    #expect(bench.fetched == [ByteRange(mebibyte, 2 * mebibyte)])
  }

  @Test func r1AChangedObjectIsNeverMixed() async throws {
    let bench = try Workbench(size: 2 * mebibyte)
    let download = try bench.open()
    let first = ByteRange(0, mebibyte)
    _ = await download.bytes(first)
    bench.store.place(bench.version.key, .words(size: 2 * mebibyte, seed: 8))
    let second = await download.bytes(ByteRange(mebibyte, 2 * mebibyte))
    guard case .failure(.changed) = second else {
      Issue.record("\(second)")
      return
    }
    #expect(await download.bytes(first) == .success(bench.bytes(first)))
    let callCount = bench.store.calls.count
    guard case .failure(.changed) = await download.bytes(ByteRange(0, mebibyte + 1)) else {
      Issue.record("a gone version was read")
      return
    }
    #expect(bench.store.calls.count == callCount)
  }

  @Test func r5AReaderWaitsNoLongerThanItsDeadline() async throws {
    let bench = try Workbench(size: mebibyte)
    bench.faults.add(Fault(.hang(), callCount: .max))
    var settings = DownloadSettings()
    settings.operationDeadline = .milliseconds(50)
    let download = try bench.open(settings: settings)
    guard case .failure(.deadline) = await download.bytes(ByteRange(0, 10)) else {
      Issue.record("no deadline")
      return
    }
    await download.close()
  }

  @Test func aDeadlineSaysWhatTheStoreSaidLast() async throws {
    let bench = try Workbench(size: mebibyte)
    bench.faults.add(Fault(.fail(.throttled, afterByteCount: 5)))
    bench.faults.add(Fault(.hang(), callCount: .max))
    var settings = DownloadSettings()
    settings.operationDeadline = .milliseconds(50)
    let download = try bench.open(settings: settings)
    guard case .failure(.deadline(let words)) = await download.bytes(ByteRange(0, 10)) else {
      Issue.record("no deadline")
      return
    }
    #expect(words.contains("did not arrive within 0.05 seconds"), "\(words)")
    #expect(words.contains("the last failure was: GetObject"), "\(words)")
    await download.close()
  }

  @Test func r5AnInterruptedReaderIsToldAtOnceAndOnce() async throws {
    let bench = try Workbench(size: mebibyte)
    bench.faults.add(Fault(.hang(), callCount: .max))
    let download = try bench.open()
    let waiter = CollectingWaiter(ByteRange(0, 10))
    let plan = FetchPlan(demand: [ByteRange(0, mebibyte)])
    guard
      case .waiting(let id) = download.read(ByteRange(0, 10), plan: plan, makeWaiter: { waiter })
    else {
      Issue.record("did not wait")
      return
    }
    download.cancel(id)
    download.cancel(id)
    await download.close()
    #expect(waiter.all == [.failure(.cancelled)])
  }

  @Test func r3AReaderFarAheadDoesNotWaitForWhatLiesBetween() async throws {
    let bench = try Workbench(size: 8 * mebibyte)
    let gate = Gate()
    bench.store.hook = { call, moment in
      if case .body(let sent) = moment, sent >= 64 << 10, call.range?.lowerBound == 0 {
        await gate.wait()
      }
    }
    let download = try bench.open()
    let whole = ByteRange(0, 8 * mebibyte)
    download.prefetch(FetchPlan(demand: [], ahead: [whole]))
    let range = ByteRange(offset: 5 * mebibyte, count: 4096)
    #expect(await download.bytes(range) == .success(bench.bytes(range)))
    gate.open()
    #expect(await download.bytes(whole) == .success(bench.bytes(whole)))
    await download.settled()
    let received = bench.store.calls.receivedByteCount
    #expect(received <= 8 * mebibyte + 128 << 10, "the cut flight stops where the other began")
    #expect(try bench.open().cachedByteCount == 8 * mebibyte)
  }

  @Test func closingRecordsWhatHasArrived() async throws {
    let bench = try Workbench(size: 4 * mebibyte)
    bench.store.hook = { _, moment in
      if case .body(let sent) = moment, sent >= 100_000 { await Gate().wait() }
    }
    let download = try bench.open()
    let waiter = download.begin(ByteRange(0, 4 * mebibyte))
    #expect(await eventually { download.cachedByteCount >= 100_000 })
    await download.close()
    #expect(await waiter.outcome() == .failure(.cancelled))
    let arrived = download.cachedByteCount
    #expect(try bench.open().cachedByteCount == arrived)
    #expect(await download.bytes(ByteRange(0, 10)) == .success(bench.bytes(ByteRange(0, 10))))
    let missing = ByteRange(3 * mebibyte, 3 * mebibyte + 1)
    #expect(await download.bytes(missing) == .failure(.cancelled))
  }

  @Test func aFullDiskLetsReadersReadFromMemory() async throws {
    let bench = try Workbench(size: 2 * mebibyte)
    let disk = FailingDisk(.writeData)
    var settings = DownloadSettings()
    settings.diskRetryDelay = .zero
    let download = try bench.open(settings: settings, faults: disk.faults)
    let range = ByteRange(1000, 9000)
    let part = ByteRange(0, 2 * mebibyte)
    #expect(await download.bytes(range, demand: part) == .success(bench.bytes(range)))
    #expect(download.cachedByteCount == 0)
    #expect(bench.fetched == [part, range])
    disk.repair()
    #expect(await download.bytes(range) == .success(bench.bytes(range)))
    await download.settled()
    #expect(download.cachedByteCount == range.count)
    #expect(bench.budget.usedByteCount == 0)
  }

  @Test func bytesOfAFailedFlightAreKept() async throws {
    let bench = try Workbench(size: 2 * mebibyte)
    bench.faults.add(Fault(.fail(.accessDenied, afterByteCount: 300_000), callNumber: 1))
    let download = try bench.open()
    let range = ByteRange(0, 2 * mebibyte)
    guard case .failure(.store) = await download.bytes(range) else {
      Issue.record("the failure was lost")
      return
    }
    await download.settled()
    #expect(await download.bytes(range) == .success(bench.bytes(range)))
    #expect(bench.fetched == [range, ByteRange(300_000, 2 * mebibyte)])
  }
}
