import Core
import Simulation
import Testing

private let mebibyte = 1 << 20
private let gibibyte = 1 << 30

@Suite struct PartPlanTests {
  @Test func partsTileTheObject() throws {
    var random = Seeded(4)
    var limits = PartLimits()
    limits.sizeMin = 1
    for _ in 0..<500 {
      let size = Int.random(in: 0...5000, using: &random)
      let partSize = Int.random(in: 1...700, using: &random)
      let plan = try PartPlan(size: size, partSize: partSize, limits: limits)
      var end = 0
      for number in plan.numbers {
        let range = plan.range(ofPart: number)
        #expect(range.lowerBound == end && !range.isEmpty && range.count <= plan.partSize)
        #expect(number == plan.count || range.count == plan.partSize)
        end = range.upperBound
      }
      #expect(end == size, "size \(size), part size \(partSize)")
      #expect(plan.ranges.count == plan.count)
    }
  }

  @Test(arguments: [
    (0, 0), (1, 1), (20 * mebibyte - 1, 1), (20 * mebibyte, 1), (20 * mebibyte + 1, 2),
    (40 * mebibyte, 2), (10_000 * 20 * mebibyte, 10_000),
  ])
  func theUsualPartSizeMakesSoManyParts(size: Int, count: Int) throws {
    let plan = try PartPlan(size: size, partSize: 0)
    #expect(plan.count == count)
    #expect(plan.partSize == 20 * mebibyte)
  }

  @Test func thePartSizeGrowsBeyondTenThousandParts() throws {
    let oneByteOver = try PartPlan(size: 10_000 * 5 * mebibyte + 1, partSize: 5 * mebibyte)
    #expect(oneByteOver.partSize == 6 * mebibyte)
    #expect(oneByteOver.count == 8_334)
    let onePartOver = try PartPlan(size: 10_001 * 20 * mebibyte, partSize: 20 * mebibyte)
    #expect(onePartOver.partSize == 21 * mebibyte)
    #expect(onePartOver.count == 9_525)
    var random = Seeded(5)
    for _ in 0..<200 {
      let size = Int.random(in: 0...50 * 1024 * gibibyte / 2, using: &random)
      let plan = try PartPlan(size: size, partSize: 5 * mebibyte)
      #expect(plan.count <= 10_000)
      #expect(plan.partSize.isMultiple(of: mebibyte))
      // No larger than it must be, by a mebibyte.
      #expect(plan.partSize == 5 * mebibyte || size > (plan.partSize - mebibyte) * 10_000)
    }
  }

  @Test func whatAllPartsTogetherCannotHoldIsRefused() throws {
    let most = 10_000 * 5 * gibibyte
    #expect(try PartPlan(size: most, partSize: 0).count == 10_000)
    #expect(throws: PartLimits.Violation.objectSize(most + 1, max: most)) {
      _ = try PartPlan(size: most + 1, partSize: 0)
    }
  }

  @Test(arguments: [5 * mebibyte, 20 * mebibyte, 5 * gibibyte])
  func partSizesWithinTheLimitsAreTaken(size: Int) throws {
    #expect(try PartLimits().partSize(size) == size)
  }

  @Test(arguments: [-1, 1, 5 * mebibyte - 1, 5 * gibibyte + 1, .max])
  func partSizesOutsideTheLimitsAreRefused(size: Int) {
    #expect(
      throws: PartLimits.Violation.partSize(size, allowed: 5 * mebibyte...5 * gibibyte)
    ) { _ = try PartPlan(size: 1, partSize: size) }
  }

  @Test func zeroMeansTheUsualPartSize() throws {
    #expect(try PartLimits().partSize(0) == 20 * mebibyte)
    var limits = PartLimits()
    limits.sizeMin = 32 * mebibyte
    #expect(try limits.partSize(0) == 32 * mebibyte)
  }

  @Test(arguments: [(-5, 1), (0, 1), (1, 1), (8, 8), (1000, 1000), (1001, 1000), (.max, 1000)])
  func partsInFlightAreBroughtIntoTheirRange(wanted: Int, taken: Int) {
    #expect(PartLimits.parallel(wanted) == taken)
  }
}

@Suite struct CopyMethodTests {
  private func method(
    _ size: Int,
    partSize: Int = 0,
    wholeSizeMax: Int? = nil
  ) throws -> CopyMethod {
    try CopyMethod(
      size: size,
      partSize: partSize,
      wholeSizeMax: wholeSizeMax,
      singleRequestSizeMax: 5 * gibibyte
    )
  }

  @Test func oneRequestCopiesWhatTheStoreTakesAtOnce() throws {
    #expect(try method(0) == .whole)
    #expect(try method(5 * gibibyte) == .whole)
    #expect(
      try method(5 * gibibyte + 1)
        == .parts(PartPlan(size: 5 * gibibyte + 1, partSize: 20 * mebibyte))
    )
  }

  @Test func aThresholdMakesPartsOfLess() throws {
    #expect(try method(64 * mebibyte, wholeSizeMax: 64 * mebibyte) == .whole)
    guard case .parts(let plan) = try method(64 * mebibyte + 1, wholeSizeMax: 64 * mebibyte) else {
      Issue.record("copied whole")
      return
    }
    #expect(plan.count == 4)
    // Beyond what the store takes no threshold helps.
    #expect(try method(6 * gibibyte, wholeSizeMax: 10 * gibibyte) != .whole)
  }

  @Test func aSinglePartIsCopiedWhole() throws {
    #expect(try method(20 * mebibyte, wholeSizeMax: 0) == .whole)
    #expect(try method(20 * mebibyte + 1, wholeSizeMax: 0) != .whole)
    #expect(try method(0, wholeSizeMax: 0) == .whole)
  }
}

@Suite struct StreamPlanTests {
  @Test func partsGrowOnlyAsTheStreamProvesLong() throws {
    let plan = try StreamPlan(partSize: 0)
    #expect(plan.size(ofPart: 1) == 20 * mebibyte)
    #expect(plan.size(ofPart: 1000) == 20 * mebibyte)
    #expect(plan.size(ofPart: 1001) == 40 * mebibyte)
    #expect(plan.size(ofPart: 10_000) == 256 * mebibyte)
    #expect(plan.size(ofPart: 10_001) == nil)
    let total = (1...10_000).reduce(0) { $0 + (plan.size(ofPart: $1) ?? 0) }
    #expect(total > 1700 * gibibyte)
  }

  @Test func noPartShrinks() throws {
    let plan = try StreamPlan(partSize: 300 * mebibyte)
    #expect(plan.size(ofPart: 1) == 300 * mebibyte)
    #expect(plan.size(ofPart: 9_999) == 300 * mebibyte)
  }

  @Test func theBudgetBoundsWhatIsHeld() {
    #expect(StreamPlan.parallel(8, partSize: 20 * mebibyte, budget: 236 * mebibyte) == 8)
    #expect(StreamPlan.parallel(64, partSize: 20 * mebibyte, budget: 236 * mebibyte) == 11)
    #expect(StreamPlan.parallel(8, partSize: 300 * mebibyte, budget: -44 * mebibyte) == 1)
  }
}

extension PartPlanTests {
  @Test func partsGivenOneByOneAreThose() {
    let ranges = [ByteRange(0, 7), ByteRange(7, 8), ByteRange(8, 20)]
    let plan = PartPlan(tiling: ranges)
    #expect(plan.size == 20)
    #expect(plan.count == 3)
    #expect(plan.partSize == 12)
    #expect(plan.ranges == ranges)
    #expect(PartPlan(tiling: []).ranges == [])
  }
}
