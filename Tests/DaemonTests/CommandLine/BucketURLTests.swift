import Dipper
import Testing

@Suite
struct BucketURLTests {
  private func read(
    _ text: String,
    for purpose: BucketURL.Purpose = .prefix,
    directories: Set<String> = []
  ) throws(InvalidBucketURL) -> BucketURL {
    try BucketURL(Array(text.utf8), for: purpose) { directories.contains($0) }
  }

  @Test(
    arguments: [
      ("s3://data", "data", ""), ("s3://data/", "data", ""), ("s3://data/a/b", "data", "a/b"),
      ("s3://data//a", "data", "/a"), ("s3://data/a%20b?c#d", "data", "a%20b?c#d"),
      ("s3://data/../x", "data", "../x"),
    ]
  )
  func theKeyIsTakenLiterally(text: String, bucket: String, key: String) throws {
    let url = try read(text)
    #expect(url.scheme == .s3)
    #expect(url.bucket == bucket)
    #expect(url.key == Array(key.utf8))
  }

  @Test
  func aKeyNeedNotBeUTF8() throws {
    let url = try BucketURL(Array("s3://b/".utf8) + [0xC3, 0x28], for: .object) { _ in false }
    #expect(url.key == [0xC3, 0x28])
  }

  @Test
  func tosIsAddressedTheSameWay() throws {
    #expect(try read("tos://b/k").scheme == .tos)
  }

  @Test
  func anExistingDirectoryIsTheBucket() throws {
    let url = try read("file:///srv/data/2024/", for: .bucket, directories: ["/srv/data/2024"])
    #expect(url.bucket == "/srv/data/2024")
    #expect(url.key.isEmpty)
    #expect(url.bucketName == "file:///srv/data/2024")
  }

  @Test
  func aFileIsAKeyInItsDirectory() throws {
    let url = try read("file:///srv/data/a.txt", for: .object, directories: ["/srv/data", "/srv"])
    #expect(url.bucket == "/srv/data")
    #expect(url.key == Array("a.txt".utf8))
  }

  @Test
  func aDoubleSlashEndsTheDirectory() throws {
    let url = try read("file:///srv//data/a//b", for: .object, directories: ["/srv/data"])
    #expect(url.bucket == "/srv")
    #expect(url.key == Array("data/a//b".utf8))
    #expect(try read("file:////k", for: .object).bucket == "/")
  }

  @Test(
    arguments: [
      ("data", BucketURL.Purpose.bucket, "is not a bucket URL"),
      ("/srv/data", .bucket, "write file:///srv/data"),
      ("gs://data", .bucket, "a store that isn't known; use s3://, tos:// or file://"),
      ("://data", .bucket, "is not a bucket URL"),
      ("s3://", .bucket, "has no bucket"),
      ("s3:///key", .object, "has no bucket"),
      ("s3://da ta", .bucket, "characters that no store allows"),
      ("s3://..", .bucket, "characters that no store allows"),
      ("s3://data", .object, "names a whole bucket"),
      ("s3://data/", .object, "names a whole bucket"),
      ("file://data/x", .bucket, "needs an absolute path"),
      ("file:///nowhere", .bucket, "there is no such directory"),
      ("file:///srv/nowhere", .bucket, "there is no such directory"),
      ("file:///nowhere/x", .object, "there is no directory /nowhere to be the bucket"),
      ("file:///nowhere/x/y", .prefix, "write // where the bucket ends"),
      ("file:///srv", .object, "is a directory"),
    ]
  )
  func whatIsWrongIsOneSentence(text: String, purpose: BucketURL.Purpose, part: String) throws {
    let error = try #require(throws: InvalidBucketURL.self) {
      try read(text, for: purpose, directories: ["/srv"])
    }
    #expect(error.description.contains(part), "\(error)")
    #expect(!error.description.contains("\n"))
  }
}
