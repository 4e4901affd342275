import Core
import Daemon
import Support
import Testing

@Suite
struct StatusReportTests {
  @Test
  func theFieldsAreThoseOfTheContract() {
    var status = sampleStatus(mountpoint: "/mnt/data")
    status.transfers = [
      MountStatus.Transfer(
        downloadOf: "a/b",
        bytesDone: 1,
        bytesTotal: 2,
        partsDone: 1,
        partsTotal: 3
      )
    ]
    let cause = StoreError(
      .throttled,
      .getObject,
      code: "SlowDown",
      requestID: "r1",
      message: "slow down"
    )
    let record = ErrorRing.Record(
      time: Timestamp(seconds: 0),
      operation: "read",
      path: "a/b",
      error: FileError(.timedOut, "the store asked to slow down", cause: cause)
    )
    status.errors = [MountStatus.Failure(record, errnoName: "ETIMEDOUT")]
    #expect(StatusReport.text(of: StatusReport(mounts: [status])) == Self.expected)
  }

  private static let expected =
    #"{"mounts":[{"answers":true,"bucket":"s3://data/prefix","#
    + #""cache":{"bytes":123,"directory":"/c","dirty_bytes":0,"limit_bytes":456},"#
    + #""counters":{"bytes_received":0,"bytes_sent":0,"cache_hit_bytes":0,"cache_miss_bytes":0,"#
    + #""passthrough_opens":0,"#
    + #""requests":{"CopyObject":0,"GetObject":0,"HeadObject":0,"ListObjects":0,"UploadPartCopy":0},"#
    + #""retries":0},"#
    + #""errors":[{"code":"SlowDown","errno":"ETIMEDOUT","message":"the store asked to slow down","#
    + #""operation":"read","path":"a/b","request_id":"r1","time":"1970-01-01T00:00:00Z"}],"#
    + #""log":null,"memory":{"budget_bytes":2,"resident_bytes":1},"mountpoint":"/mnt/data","#
    + #""passthrough":null,"pid":4242,"#
    + #""read_only":true,"since":"2026-11-30T08:30:00Z","state":"serving","#
    + #""transfers":[{"bytes_done":1,"bytes_total":2,"error":null,"key":"a/b","kind":"download","#
    + #""parts_done":1,"parts_total":3,"state":"running","target_key":null}],"unsaved":[],"user":null}],"#
    + #""version":1}"#

  @Test
  func theTextNamesWhatAPersonLooksFor() {
    let text = StatusText.text(StatusReport(mounts: [sampleStatus(mountpoint: "/mnt/data")]))
    for part in [
      "/mnt/data", "s3://data/prefix", "2026-11-30T08:30:00Z", "pid 4242", "read-only", "/c",
    ] {
      #expect(text.contains(part), "\(part)")
    }
    #expect(StatusText.text(StatusReport(mounts: [])) == "Nothing is mounted.\n")
  }

  @Test
  func aHostileKeyCannotMoveTheCursor() {
    var status = sampleStatus(mountpoint: "/m")
    status.transfers = [
      MountStatus.Transfer(
        downloadOf: "a\u{1B}[2Jb\nc",
        bytesDone: 0,
        bytesTotal: 0,
        partsDone: 0,
        partsTotal: 0
      )
    ]
    let text = StatusText.text(StatusReport(mounts: [status]))
    #expect(!text.contains("\u{1B}"))
    #expect(text.contains(#"a\x1B[2Jb\x0Ac"#))
  }
}
