import Dipper
import Simulation
import Support
import Testing

@testable import Daemon

@Suite
struct EmptyPrefixTests {
  private func warning(_ url: String, in directory: TestDirectory) async throws -> String? {
    let words = ["mount", url, "/m"].map { Array($0.utf8) }
    let request = try CommandParser.parse(program: "dipper", arguments: words)
    guard case .run(let invocation) = request else { throw UsageError("no command") }
    let named = try BucketURL(Array(url.utf8), for: .bucket) { _ in false }
    let settings = try MountSettings(invocation, url: named, environment: ["HOME": "/home/u"])
    let local = try BucketURL(Array("file://\(directory.path)".utf8), for: .bucket) { _ in true }
    return await MountPreparation.emptyPrefixWarning(settings, of: try await Bucket.open(local))
  }

  @Test
  func aPrefixWithNothingBelowItIsWarnedOf() async throws {
    let directory = try TestDirectory()
    for path in ["a", "a/b"] { try Disk.createDirectory("\(directory.path)/\(path)") }
    _ = try FileDescriptor.open("\(directory.path)/a/b/f", [.readWrite, .create])
    #expect(try await warning("s3://b", in: directory) == nil, "an empty bucket is nothing odd")
    #expect(try await warning("s3://b/a", in: directory) == nil)
    #expect(try await warning("s3://b/a/b/", in: directory) == nil)
    let words = try #require(try await warning("s3://b/a/bc", in: directory))
    #expect(words == "nothing exists below \"a/bc/\" in s3://b yet")
    #expect(try await warning("s3://b/a/b/f", in: directory) != nil, "an object is no directory")
  }
}
