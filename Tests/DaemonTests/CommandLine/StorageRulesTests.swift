import Daemon
import Dipper
import Testing

/// Options that say how objects are stored: what they may be, and where.
@Suite struct StorageRulesTests {
  @Test(
    arguments: [
      (["--sse", "rot13"], "--sse needs one of"),
      (["--sse-kms-key-id", "k"], "--sse-kms-key-id needs --sse kms"),
      (["--sse", "s3", "--sse-kms-key-id", "k"], "--sse-kms-key-id needs --sse kms"),
      (["--sse", "kms", "--sse-kms-key-id", "a b"], "--sse-kms-key-id needs the id"),
      (["--sse-c", "AES256"], "--sse-c can't be had"),
      (["--sse-c-key", "x"], "--sse-c-key can't be had"),
      (["--storage-class", "cold storage"], "--storage-class needs"),
      (["--acl", "a\r\nb"], "--acl needs"),
      (["--tag", "blue"], "--tag needs"),
      (["--tag", "=blue"], "--tag needs"),
      (["--tag", "team=bl;ue"], "--tag needs"),
      (["--tag", "t=" + String(repeating: "x", count: 257)], "--tag needs"),
      ((0...10).flatMap { ["--tag", "t\($0)=x"] }, "--tag can be given ten times"),
      (["--checksum", "sha1"], "--checksum needs one of"),
    ] as [([String], String)]
  )
  func whatIsWrongNamesItsOption(words: [String], part: String) throws {
    for command in [
      ["put", "f", "s3://b/k"], ["cp", "s3://b/a", "s3://b/k"], ["mount", "s3://b", "/m"],
    ] {
      do {
        _ = try invocation(command + words)
        Issue.record("\(command + words) was taken")
      } catch let error as UsageError {
        #expect(error.message.contains(part), "\(error.message)")
      }
    }
  }

  @Test(
    arguments: [
      ["--storage-class", "IA"], ["--sse", "s3"], ["--acl", "private"], ["--tag", "a=b"],
      ["--checksum", "md5"],
    ],
    ["--read-only", "--offline"]
  )
  func aMountThatStoresNothingTakesNone(words: [String], fixed: String) throws {
    let error = #expect(throws: UsageError.self) {
      _ = try invocation(["mount", "s3://b", "/m", fixed] + words)
    }
    #expect(error?.message.contains("\(words[0]) says how files are stored") ?? false)
  }

  @Test(
    arguments: [
      (.file, ["--storage-class", "STANDARD"], "--storage-class can't be had with file://"),
      (.file, ["--sse", "s3"], "--sse can't be had with file://"),
      (.file, ["--acl", "private"], "--acl can't be had with file://"),
      (.file, ["--checksum", "md5"], "--checksum can't be had with file://"),
      (.s3, ["--acl", "bucket-owner-entrusted"], "--acl needs one of"),
      (.tos, ["--acl", "aws-exec-read"], "--acl needs one of"),
      (.tos, ["--storage-class", "STANDARD_IA"], "--storage-class needs one of"),
      (.tos, ["--checksum", "crc32c"], "--checksum needs one of"),
    ] as [(BucketURL.Scheme, [String], String)]
  )
  func whatAStoreHasNotIsRefused(
    _ scheme: BucketURL.Scheme,
    _ words: [String],
    _ part: String
  ) throws {
    let invocation = try invocation(["put", "f", "s3://b/k"] + words)
    do {
      try StorageRules.check(invocation, for: scheme)
      Issue.record("\(words) was taken")
    } catch {
      #expect(error.message.contains(part), "\(error.message)")
    }
  }

  @Test func theWordsOfOtherToolsAreTaken() throws {
    let kms = try invocation([
      "put", "f", "s3://b/k", "--sse", "aws:kms", "--sse-kms-key-id", "arn:aws:kms:eu:1:key/2",
    ])
    #expect(
      BucketOptions(kms).encryption == .keyService(keyID: "arn:aws:kms:eu:1:key/2")
    )
    let own = try invocation(["put", "f", "s3://b/k", "--sse", "AES256", "--checksum", "crc32c"])
    #expect(BucketOptions(own).encryption == .storeKeys)
    #expect(BucketOptions(own).checksum == .crc32c)
  }

  @Test func tagsAddUpAndMayBeEmptyOrHaveSpaces() throws {
    let invocation = try invocation([
      "put", "f", "s3://b/k", "--tag", "team=blue sky", "--tag", "a:b/c=", "--tag", "é=x=y",
    ])
    #expect(invocation.pairs(.tag) == ["team": "blue sky", "a:b/c": "", "é": "x=y"])
  }

  @Test func fstabTakesTheSameNames() throws {
    let invocation = try invocation([
      "mount", "s3://b", "/m", "-o",
      "storage_class=STANDARD_IA,sse=kms,acl=private,tag=a=b,tag=c=d",
    ])
    #expect(invocation.text(.storageClass) == "STANDARD_IA")
    #expect(invocation.pairs(.tag) == ["a": "b", "c": "d"])
    #expect(BucketOptions(invocation).encryption == .keyService())
    #expect(BucketOptions(invocation).acl == "private")
  }

  /// What was begun one way must not be finished another.
  @Test func aCheckpointSaysHowItsObjectIsStored() throws {
    let invocation = try invocation([
      "put", "f", "s3://b/k", "--sse", "kms", "--sse-kms-key-id", "k", "--acl", "private",
      "--checksum", "md5",
    ])
    #expect(
      BucketOptions(invocation).storageTask
        == ["sse": "kms", "sse-kms-key-id": "k", "acl": "private", "checksum": "md5"]
    )
    #expect(BucketOptions().storageTask.isEmpty)
  }
}
