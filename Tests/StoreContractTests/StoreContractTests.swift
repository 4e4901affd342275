import Testing

@Suite struct StoreContractTests {
  @Test(arguments: ObjectStoreContract.claims, Conformer.embedded + Conformer.remote)
  func holds(_ claim: ObjectStoreContract.Claim, for conformer: Conformer) async throws {
    try await claim.check(try await conformer.makeSetting())
  }
}
