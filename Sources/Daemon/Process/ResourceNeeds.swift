internal import Core
package import Support

/// What a command needs of the threads, addresses and descriptors that the system may ration.
///
/// Asked for before anything is begun, because there is no telling later: Swift's pool waits for a
/// thread for as long as it takes, and an allocation that fails ends the process, as does a descriptor
/// that the pool doesn't get.
package struct ResourceNeeds: Hashable, Sendable {
  /// Threads beside the first one.
  package var threadCount: Int
  /// Bytes of addresses, with the threads' stacks.
  package var addressByteCount: Int
  /// Files and connections that are open at once, at least.
  package var descriptorCount: Int
  /// What else helps but a higher limit; nil if nothing does.
  package var advice: String?

  // Beyond so many processors the pool hardly grows, and is patient.
  private static let poolSizeMax = 16
  private static let mebibyte = 1 << 20

  /// What `invocation` needs.
  ///
  /// - Parameters:
  ///   - invocation: the command line.
  ///   - isStarter: true if another process does the work and this one waits for it.
  ///   - poolSize: how many threads Swift's pool may have.
  package init(_ invocation: Invocation, isStarter: Bool, poolSize: Int) {
    // Tasks have one of two priorities, and the pool as many threads for each.
    let pool = 2 * min(poolSize, Self.poolSizeMax)
    switch invocation.command {
    case .mount, .demo:
      // The daemon looks at its limit by itself, and wants more.
      descriptorCount = 0
      // Signals, timers, transfers, the control socket, the kernel's requests and the disk.
      threadCount = isStarter ? 2 : 10 + pool
      addressByteCount =
        (invocation.number(.memory) ?? MountSettings.memoryDefault)
        + (Self.base + 10 + pool) * Self.mebibyte
      if invocation.command == .mount { advice = "give a smaller --memory" }
    case .get, .ls, .doctor, .put, .cp, .recover:
      descriptorCount = Self.descriptorCountMin
      // Signals, timers, transfers, names and the disk.
      threadCount = 6 + pool
      addressByteCount = (Self.base + 6 + pool) * Self.mebibyte
    case .unmount, .status, .warm, .evict, .map:
      descriptorCount = 0
      // What can't have a thread of its own is done after the other, or says so.
      threadCount = 0
      addressByteCount = Self.smallBase * Self.mebibyte
    }
  }

  // What libraries, buffers and the program's own values take; measured with room to spare.
  private static let base = 40
  private static let smallBase = 12
  // Three of the pool's, two of libcurl's, a connection, data, checkpoint and lock, the log, a file of
  // credentials, and one to spare.
  private static let descriptorCountMin = 12

  /// Checks whether they can be met.
  ///
  /// - Parameters:
  ///   - rest: the addresses that are left.
  ///   - spareDescriptors: tells how many more files can be opened, up to the number it is given.
  /// - Throws: one sentence that names what is short and what to do.
  package func check(
    _ rest: AddressSpace.Rest? = AddressSpace.rest,
    spareDescriptors: (Int) -> Int = ProcessLimits.spareDescriptors(upTo:)
  ) throws(Shortage) {
    if let rest, rest.byteCount < addressByteCount {
      let left = rest.byteCount / Self.mebibyte
      let needed = (addressByteCount + Self.mebibyte - 1) / Self.mebibyte
      throw Shortage(
        "only \(left) MiB of addresses are left to this process (\(rest.limitName)), and it needs "
          + "\(needed); raise the limit" + (advice.map { ", or \($0)" } ?? "")
      )
    }
    let spare = spareDescriptors(descriptorCount)
    if spare < descriptorCount {
      throw Shortage(
        "only \(spare) more files can be opened by this process (ulimit -n), and it needs "
          + "\(descriptorCount); raise the limit"
      )
    }
    do throws(DiskFailure) {
      try Thread.rehearse(threadCount)
    } catch {
      throw Shortage("\(error)")
    }
  }

  /// What the system doesn't have enough of.
  package struct Shortage: Error, Hashable, Sendable {
    /// One sentence.
    package let sentence: String

    init(_ sentence: String) { self.sentence = sentence }
  }
}
