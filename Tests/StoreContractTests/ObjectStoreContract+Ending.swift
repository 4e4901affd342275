import Core
import Simulation
import Support
import Testing

extension ObjectStoreContract {
  /// How calls end before they are done.
  static let ending: [Claim] = [
    Claim("a sink that refuses ends the read with its errno") { setting in
      try await setting.put("object", pattern(3 << 20))
      let sink = CollectingSink(refusesAfter: 100_000)
      let request = GetRequest(
        key: setting.key("object"),
        range: ByteRange(0, 3 << 20),
        ifMatch: nil
      )
      let error = await #expect(throws: StoreError.self) {
        try await setting.store.get(request, into: sink, context: setting.context)
      }
      #expect(error?.kind == .sinkRefused)
      #expect(error?.errno == 28)
      // What it took before is good.
      #expect(sink.isContiguous)
      #expect(sink.bytes == Array(pattern(3 << 20).prefix(sink.bytes.count)))
    },
    Claim("a call in a cancelled task does nothing") { setting in
      let kinds = await withTaskGroup(of: StoreError.Kind?.self) { group in
        group.cancelAll()
        group.addTask { await setting.failure { try await setting.put("object") } }
        group.addTask { await setting.failure { _ = try await setting.list() } }
        group.addTask { await setting.failure { _ = try await setting.head("object") } }
        return await group.reduce(into: []) { $0.append($1) }
      }
      #expect(kinds == [.cancelled, .cancelled, .cancelled])
      try await setting.expectMissing("object")
    },
    Claim("a read ends when its task is cancelled") { setting in
      let size = 16 << 20
      try await setting.put("object", pattern(size))
      let request = GetRequest(key: setting.key("object"), range: ByteRange(0, size), ifMatch: nil)
      let hasBegun = Gate()
      // Stays in the sink until the task is cancelled, so that the cancellation comes in time.
      let isCancelled = Lock(false)
      let sink = CollectingSink {
        hasBegun.open()
        while !isCancelled.withLock({ $0 }) { Pause.short() }
      }
      let kind = await withTaskGroup(of: StoreError.Kind?.self) { group in
        group.addTask {
          await setting.failure {
            _ = try await setting.store.get(request, into: sink, context: setting.context)
          }
        }
        await hasBegun.wait()
        group.cancelAll()
        isCancelled.withLock { $0 = true }
        return await group.next() ?? nil
      }
      #expect(kind == .cancelled)
      #expect(sink.bytes.count < size)
    },
    Claim("a call whose deadline has passed times out and does nothing") { setting in
      let late = RequestContext(deadline: Instant(nanoseconds: 1))
      #expect(
        await setting.failure {
          _ = try await setting.store.head(
            setting.key("object"),
            versionID: nil,
            ifMatch: nil,
            context: late
          )
        } == .timedOut
      )
      #expect(
        await setting.failure {
          let request = PutRequest(key: setting.key("object"))
          _ = try await setting.store.put(request, body: .bytes([1]), context: late)
        } == .timedOut
      )
      if !setting.has(.mayActAfterDeadline) { try await setting.expectMissing("object") }
    },
  ]
}
