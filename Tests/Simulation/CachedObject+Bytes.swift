package import Core
internal import Glibc

extension CachedObject {
  /// Reads a range to the end, as a reader with this plan would; `demand` nil asks for the range alone.
  package func bytes(
    _ range: ByteRange,
    demand: ByteRange? = nil,
    ahead: [ByteRange] = []
  ) async -> Result<[UInt8], FetchError> {
    await begin(range, demand: demand, ahead: ahead).outcome()
  }

  /// Begins to read a range and returns who waits for it; a hit has been told by then.
  package func begin(
    _ range: ByteRange,
    demand: ByteRange? = nil,
    ahead: [ByteRange] = []
  ) -> CollectingWaiter {
    let waiter = CollectingWaiter(range)
    let plan = FetchPlan(demand: [demand ?? range], ahead: ahead)
    switch read(range, plan: plan, makeWaiter: { waiter }) {
    case .ready(let descriptor): waiter.served(from: descriptor)
    case .waiting: break
    case .failed(let error): waiter.failed(error)
    }
    return waiter
  }
}

/// The bytes of a range of an open file; fewer if the file ends before.
package func readBytes(of descriptor: Int32, _ range: ByteRange) -> [UInt8] {
  [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
    while count < range.count, let base = buffer.baseAddress {
      let read = pread(descriptor, base + count, range.count - count, range.lowerBound + count)
      if read <= 0 { break }
      count += read
    }
  }
}
