import Daemon
import Support
import Testing

@Suite
struct ResourceNeedsTests {
  private func needs(
    _ words: [String],
    isStarter: Bool = false,
    poolSize: Int = 2
  ) throws -> ResourceNeeds {
    let request = try CommandParser.parse(
      program: "dipper",
      arguments: words.map { Array($0.utf8) }
    )
    guard case .run(let invocation) = request else { throw UsageError("no command") }
    return ResourceNeeds(invocation, isStarter: isStarter, poolSize: poolSize)
  }

  private func shortage(_ needs: ResourceNeeds, _ rest: AddressSpace.Rest?) -> String? {
    do throws(ResourceNeeds.Shortage) {
      try needs.check(rest)
      return nil
    } catch {
      return error.sentence
    }
  }

  @Test
  func aMountNeedsTheMemoryThatItMayUse() throws {
    let small = try needs(["mount", "s3://b", "/m", "--memory", "64M"])
    let usual = try needs(["mount", "s3://b", "/m"])
    #expect(usual.addressByteCount - small.addressByteCount == (256 - 64) << 20)
    // Whoever starts the daemon, which has the same limit, knows it before.
    let starter = try needs(["mount", "s3://b", "/m"], isStarter: true)
    #expect(starter.addressByteCount == usual.addressByteCount)
    #expect(starter.threadCount < usual.threadCount)
  }

  @Test
  func moreProcessorsNeedMoreThreadsUpToALimit() throws {
    let counts = try [1, 16, 1000].map { try needs(["ls", "s3://b"], poolSize: $0).threadCount }
    #expect(counts[0] < counts[1] && counts[1] == counts[2])
  }

  @Test
  func tooFewAddressesAreToldWithBothFiguresAndWhatToDo() throws {
    let needs = try needs(["mount", "s3://b", "/m", "--memory", "64M"])
    let needed = needs.addressByteCount >> 20
    let rest = AddressSpace.Rest(byteCount: needs.addressByteCount - 1, limitName: "ulimit -v")
    #expect(
      shortage(needs, rest)
        == "only \(needed - 1) MiB of addresses are left to this process (ulimit -v), and it needs"
        + " \(needed); raise the limit, or give a smaller --memory"
    )
    let enough = AddressSpace.Rest(byteCount: needs.addressByteCount, limitName: "ulimit -v")
    #expect(shortage(needs, enough) == nil)
    #expect(shortage(needs, nil) == nil)
  }

  @Test(arguments: [
    "get s3://b/k", "put f s3://b/", "cp s3://b/k s3://c/", "ls s3://b",
  ])
  func tooFewDescriptorsAreToldWithBothFigures(words: String) throws {
    let needs = try needs(words.split(separator: " ").map(String.init))
    let needed = needs.descriptorCount
    #expect(needed > 0)
    let error = #expect(throws: ResourceNeeds.Shortage.self) {
      try needs.check(nil, spareDescriptors: { $0 - 1 })
    }
    #expect(
      error?.sentence
        == "only \(needed - 1) more files can be opened by this process (ulimit -n), and it needs"
        + " \(needed); raise the limit"
    )
  }
}
