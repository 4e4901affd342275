import Core
import Glibc
import LocalStore
import Simulation
import Support
import Testing

/// Several tasks, several stores on one directory, and files that change while they are read.
@Suite struct LocalStoreConcurrencyTests {
  private let scratch: TestDirectory
  private let stores: [LocalStore]
  private let context = RequestContext(deadline: SystemClock().now + .seconds(60))

  init() throws {
    let scratch = try TestDirectory()
    self.scratch = scratch
    stores = (0..<2).map { _ in LocalStore(directory: scratch.path, synchronizes: false) }
  }

  private func bytes(of key: ObjectKey) async throws -> [UInt8] {
    let head = try await stores[0].head(key, versionID: nil, ifMatch: nil, context: context)
    let sink = CollectingSink()
    let request = GetRequest(version: head.version, range: ByteRange(0, head.size))
    _ = try await stores[0].get(request, into: sink, context: context)
    return sink.bytes
  }

  @Test func ofConcurrentCreatesByTwoStoresOneWins() async throws {
    for round in 0..<20 {
      let key = ObjectKey("new/\(round)")
      let winners = await withTaskGroup(of: Int?.self) { group in
        for number in 0..<8 {
          let store = stores[number % 2]
          group.addTask { [context] in
            let request = PutRequest(key: key, condition: .ifAbsent)
            let body = BodySource.bytes([UInt8(number)])
            let metadata = try? await store.put(request, body: body, context: context)
            return metadata == nil ? nil : number
          }
        }
        return await group.reduce(into: [Int]()) { if let number = $1 { $0.append(number) } }
      }
      try #require(winners.count == 1)
      #expect(try await bytes(of: key) == winners.map(UInt8.init))
    }
  }

  /// Every increment reads, adds and writes back on condition, so that a lost one shows.
  @Test func conditionalReplacesByTwoStoresLoseNothing() async throws {
    let key = ObjectKey("counter")
    _ = try await stores[0].put(PutRequest(key: key), body: .bytes([0]), context: context)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<4 {
        let store = stores[number % 2]
        group.addTask { [context] in
          var doneCount = 0
          while doneCount < 10 {
            let head = try await store.head(key, versionID: nil, ifMatch: nil, context: context)
            let etag = try #require(head.version.etag)
            let sink = CollectingSink()
            do {
              let read = GetRequest(key: key, range: ByteRange(0, 1), ifMatch: etag)
              _ = try await store.get(read, into: sink, context: context)
              let request = PutRequest(key: key, condition: .ifMatch(etag))
              let body = BodySource.bytes(sink.bytes.map { $0 + 1 })
              _ = try await store.put(request, body: body, context: context)
              doneCount += 1
            } catch let error as StoreError where error.kind == .preconditionFailed {
              continue
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try await bytes(of: key) == [40])
  }

  @Test func putsAndDeletesInOneDirectoryDoNotGetInEachOthersWay() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<4 {
        let store = stores[number % 2]
        group.addTask { [context] in
          for round in 0..<25 {
            let key = ObjectKey("a/b/c-\(number)/\(round % 3)")
            _ = try await store.put(PutRequest(key: key), body: .bytes([1]), context: context)
            try await store.delete(key, ifMatch: nil, context: context)
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(scratch.names() == [".dipper-local"])
  }

  @Test func aFileThatChangesDuringAReadEndsItWithoutABadByte() async throws {
    let size = 4 << 20
    let file = try scratch.write([UInt8](repeating: 1, count: size), to: "file")
    // Older kernels stamp by the tick: the change must come in a later one than the file.
    Pause.untilNextTick()
    let key = ObjectKey("file")
    let head = try await stores[0].head(key, versionID: nil, ifMatch: nil, context: context)
    let sink = CollectingSink {
      // After the first piece, and behind it.
      try? [2].withUnsafeBytes { try file.write($0, at: size - 1) }
    }
    let error = await #expect(throws: StoreError.self) {
      let request = GetRequest(version: head.version, range: ByteRange(0, size))
      _ = try await stores[0].get(request, into: sink, context: context)
    }
    #expect(error?.kind == .preconditionFailed)
    #expect(!sink.bytes.isEmpty && sink.bytes.count < size)
    #expect(sink.bytes.allSatisfy { $0 == 1 })
  }

  @Test func aFileThatIsReplacedDuringAReadIsReadToItsEnd() async throws {
    let size = 4 << 20
    let key = ObjectKey("file")
    let store = stores[0]
    let old = [UInt8](repeating: 1, count: size)
    let version = try await store.put(PutRequest(key: key), body: .bytes(old), context: context)
      .version
    let hasReplaced = Lock(false)
    let scratch = scratch
    let sink = CollectingSink {
      let isFirst = hasReplaced.withLock { hasReplaced in
        defer { hasReplaced = true }
        return !hasReplaced
      }
      guard isFirst else { return }
      _ = try? scratch.write([UInt8](repeating: 2, count: size), to: "next")
      rename(scratch.path + "/next", scratch.path + "/file")
    }
    let request = GetRequest(version: version, range: ByteRange(0, size))
    // The rename changes the old file's ctime, so that it may count as changed: either is right,
    // mixing is not.
    do {
      _ = try await store.get(request, into: sink, context: context)
      #expect(sink.bytes == old)
    } catch {
      #expect(error.kind == .preconditionFailed)
      #expect(sink.bytes.allSatisfy { $0 == 1 })
    }
    #expect(try await bytes(of: key) == [UInt8](repeating: 2, count: size))
  }

  @Test func aFileCutShortDuringAReadFailsIt() async throws {
    let size = 4 << 20
    let file = try scratch.write([UInt8](repeating: 1, count: size), to: "file")
    let sink = CollectingSink { try? file.truncate(to: 10) }
    let error = await #expect(throws: StoreError.self) {
      let request = GetRequest(
        key: ObjectKey("file"),
        range: ByteRange(0, size),
        ifMatch: nil
      )
      _ = try await stores[0].get(request, into: sink, context: context)
    }
    #expect(error?.kind == .preconditionFailed)
  }
}
