import Core
import Simulation
import Testing

@Suite struct SimulatedPartCacheTests {
  @Test func itKeepsTheContract() async throws {
    let mount = try TestMount()
    let content = SimulatedContent.words(size: 100_000, seed: 3)
    let version = mount.store.place(ObjectKey("a"), content)
    let contract = PartCacheContract(mount.cache)
    #expect(await contract.violations(of: version, content.allBytes) == [])
  }
}
