import Core
import Dipper
import Simulation
import Support
import Testing

@testable import Daemon

@Suite
struct EmptyPrefixTests {
  private func settings(_ url: String, _ options: [String] = []) throws -> MountSettings {
    let words = (["mount"] + options + [url, "/m"]).map { Array($0.utf8) }
    let request = try CommandParser.parse(program: "dipper", arguments: words)
    guard case .run(let invocation) = request else { throw UsageError("no command") }
    let named = try BucketURL(Array(url.utf8), for: .bucket) { _ in false }
    return try MountSettings(invocation, url: named, environment: ["HOME": "/home/u"])
  }

  private func warning(_ url: String, in directory: TestDirectory) async throws -> String? {
    let settings = try settings(url)
    let local = try BucketURL(Array("file://\(directory.path)".utf8), for: .bucket) { _ in true }
    return try await MountPreparation.emptyPrefixWarning(settings, of: await Bucket.open(local))
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
    #expect(try await warning("s3://b/a/b/f/", in: directory) != nil, "a directory was meant")
  }

  @Test
  func anObjectIsNotMounted() async throws {
    let directory = try TestDirectory()
    for path in ["a", "a/b"] { try Disk.createDirectory("\(directory.path)/\(path)") }
    for name in ["f", "a/b/f"] {
      _ = try FileDescriptor.open("\(directory.path)/\(name)", [.readWrite, .create])
    }
    for (url, parent) in [("s3://b/f", "s3://b/"), ("s3://b/a/b/f", "s3://b/a/b/")] {
      let failure = await #expect(throws: MountFailure.self) {
        try await warning(url, in: directory)
      }
      let words = try #require(failure?.sentence)
      #expect(words.hasPrefix("\(url) is one object, and nothing exists below"), "\(words)")
      #expect(words.contains("mount \(parent), or fetch the object with 'dipper get'"), "\(words)")
    }
  }

  @Test
  func anObjectBesideItsDirectoryIsNoObstacle() async throws {
    let store = SimulatedStore(time: SystemClock())
    for key in ["a", "a/b"] { store.place(ObjectKey(key), .bytes([1])) }
    let named = try BucketURL(Array("s3://b/a".utf8), for: .bucket) { _ in false }
    #expect(
      try await MountPreparation.emptyPrefixWarning(
        settings("s3://b/a"),
        of: Bucket(named, store: store, location: "nowhere")
      ) == nil
    )
    #expect(store.calls.map(\.operation) == [.listObjects])
  }

  @Test
  func itCostsTwoSmallQuestionsAtMost() async throws {
    let store = SimulatedStore(time: SystemClock())
    func warning(_ url: String, _ options: [String] = []) async throws -> String? {
      let named = try BucketURL(Array(url.utf8), for: .bucket) { _ in false }
      return try await MountPreparation.emptyPrefixWarning(
        settings(url, options),
        of: Bucket(named, store: store, location: "nowhere")
      )
    }
    #expect(try await warning("s3://b") == nil)
    #expect(store.calls.isEmpty, "nothing is asked about a whole bucket")
    #expect(try await warning("s3://b/p") != nil)
    #expect(try await warning("s3://b/p", ["--max-retries", "4"]) != nil)
    #expect(
      store.calls.map(\.operation) == [.listObjects, .headObject, .listObjects, .headObject]
    )
    #expect(store.calls.map(\.retryCountMax) == [1, 1, 4, 4])
    store.forgetCalls()
    store.faults.add(Fault(.fail(.accessDenied)))
    #expect(try await warning("s3://b/p") == nil, "who can't be asked is not warned of")
    #expect(store.calls.count == 1)
    // A bucket with directories of its own may say so of one that isn't there.
    store.faults.add(Fault(.fail(.notFound), operation: .listObjects))
    #expect(try await warning("s3://b/p") != nil)
  }
}
