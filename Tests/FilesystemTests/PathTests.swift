import Core
import Filesystem
import Simulation
import Testing

@Suite struct PathTests {
  private func names(_ path: String) -> [FileName] {
    path.split(separator: "/").map { FileName(String($0)) }
  }

  @Test func aPathThatTheKernelKnowsLeadsToItsVersion() async throws {
    let mount = try TestMount()
    mount.place("d/e/f", "hello")
    _ = try await mount.node("d/e/f")
    mount.store.forgetCalls()
    let version = try mount.bucket.version(at: names("d/e/f")).get()
    #expect(version.key == ObjectKey("d/e/f"))
    #expect(version.size == 5)
    #expect(version.etag != nil)
    #expect(mount.store.calls.isEmpty)
  }

  @Test func whatTheKernelDoesNotKnowIsNotFound() async throws {
    let mount = try TestMount()
    mount.place("d/f", "hello")
    for path in ["d/f", "d", "x"] {
      guard case .failure(let error) = mount.bucket.version(at: names(path)) else {
        Issue.record("found \(path)")
        continue
      }
      #expect(error.code == .notFound)
    }
  }

  @Test func aDirectoryHasNoVersion() async throws {
    let mount = try TestMount()
    mount.place("d/f", "hello")
    _ = try await mount.node("d")
    for path in ["", "d"] {
      guard case .failure(let error) = mount.bucket.version(at: names(path)) else {
        Issue.record("found \(path)")
        continue
      }
      #expect(error.code == .isDirectory)
    }
  }

  @Test func anObjectBesideItsDirectoryIsFoundByItsOwnName() async throws {
    let mount = try TestMount()
    mount.place("a", "object")
    mount.place("a/b", "child")
    for path in ["a/b", "%dipper-object%a"] {
      _ = try await mount.node(path)
    }
    let version = try mount.bucket.version(at: names("%dipper-object%a")).get()
    #expect(version.key == ObjectKey("a"))
    #expect(try mount.bucket.version(at: names("a/b")).get().key == ObjectKey("a/b"))
  }

  @Test func aReplacedVersionIsNotFoundUnderItsOldNode() async throws {
    let mount = try TestMount()
    mount.place("f", "one")
    _ = try await mount.lookup("f")
    mount.place("f", "three")
    mount.clock.advance(by: .seconds(11))
    _ = try await mount.lookup("f")
    #expect(try mount.bucket.version(at: names("f")).get().size == 5)
  }
}
