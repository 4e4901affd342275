import Core
import LocalStore
import Simulation
import Support
import Testing

/// The local store counts as a remote one does, so that `status` means the same for both.
@Suite struct LocalStoreCountingTests {
  private final class Discard: BodySink {
    func receive(_ bytes: RawSpan, at offset: Int) {}
  }

  @Test func callsAndBodyBytesAreCounted() async throws {
    let directory = try TestDirectory()
    let metrics = Metrics()
    let store = LocalStore(directory: directory.path, metrics: metrics)
    let context = RequestContext(deadline: SystemClock().now + .seconds(60))
    _ = try await store.put(
      PutRequest(key: ObjectKey("k")),
      body: .bytes([UInt8](repeating: 1, count: 1000)),
      context: context
    )
    let request = GetRequest(key: ObjectKey("k"), range: ByteRange(100, 700), ifMatch: nil)
    _ = try await store.get(request, into: Discard(), context: context)
    let counts = metrics.snapshot
    #expect(counts.requests == [.putObject: 1, .getObject: 1])
    #expect(counts.receivedByteCount == 600)
  }
}
