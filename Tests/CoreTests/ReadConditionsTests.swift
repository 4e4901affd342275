import Core
import Testing

@Suite struct ReadConditionsTests {
  private let version = ObjectVersion(
    key: ObjectKey("k"),
    etag: ETag("now"),
    size: 1,
    lastModified: Timestamp(nanoseconds: 100_500_000_000)
  )

  private func holds(_ change: (inout ReadConditions) -> Void) -> Bool {
    var conditions = ReadConditions()
    change(&conditions)
    return conditions.objection(to: version) == nil
  }

  @Test func eachConditionHoldsOrObjects() {
    #expect(holds { _ in })
    #expect(holds { $0.ifMatch = ETag("now") })
    #expect(!holds { $0.ifMatch = ETag("old") })
    #expect(holds { $0.ifNoneMatch = ETag("old") })
    #expect(!holds { $0.ifNoneMatch = ETag("now") })
    #expect(holds { $0.ifModifiedSince = Timestamp(seconds: 99) })
    #expect(!holds { $0.ifModifiedSince = Timestamp(seconds: 100) })
    #expect(holds { $0.ifUnmodifiedSince = Timestamp(seconds: 100) })
    #expect(!holds { $0.ifUnmodifiedSince = Timestamp(seconds: 99) })
  }

  @Test func aTagDecidesAloneWhereOneIsNamed() {
    #expect(
      holds {
        $0.ifMatch = ETag("now")
        $0.ifUnmodifiedSince = Timestamp(seconds: 1)
      }
    )
    #expect(
      holds {
        $0.ifNoneMatch = ETag("old")
        $0.ifModifiedSince = Timestamp(seconds: 1000)
      }
    )
  }

  @Test func anObjectWithoutATagMatchesNone() {
    let untagged = ObjectVersion(
      key: version.key,
      etag: nil,
      size: 1,
      lastModified: version.lastModified
    )
    #expect(ReadConditions(ifMatch: ETag("now")).objection(to: untagged) != nil)
    var conditions = ReadConditions()
    conditions.ifNoneMatch = ETag("now")
    #expect(conditions.objection(to: untagged) == nil)
  }
}
