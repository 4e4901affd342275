import Testing

@Suite struct StoreContractTests {
  // One after the other: a claim has its sink wait on one of the two threads that tasks share.
  @Test(.serialized, arguments: ObjectStoreContract.claims, Conformer.embedded)
  func holds(_ claim: ObjectStoreContract.Claim, for conformer: Conformer) async throws {
    try await claim.check(try await conformer.makeSetting())
  }

  @Test(
    .enabled(
      if: !Conformer.servers.isEmpty,
      "no DIPPER_TEST_SERVERS; run the tests with scripts/servers exec"
    ),
    arguments: ObjectStoreContract.claims,
    Conformer.servers
  )
  func holds(_ claim: ObjectStoreContract.Claim, forServer conformer: Conformer) async throws {
    try await claim.check(try await conformer.makeSetting())
  }

  @Test func everyStoreHasItsDeviationsListed() {
    for conformer in Conformer.embedded + Conformer.servers {
      #expect(Deviation.known[conformer.name] != nil, "\(conformer.name)")
    }
  }
}
