import Core
import Simulation
import Support
import Testing
import Transfer

/// Targets whose names leave no room for what is put behind them.
@Suite struct LongTargetTests {
  private func request(_ bench: Workbench, _ name: String) -> FileDownloadRequest {
    var request = FileDownloadRequest(
      storeName: bench.store.name,
      key: bench.version.key,
      target: bench.directory.file(name),
      partSize: 1 << 20,
      parallel: 1
    )
    request.limits.sizeMin = 1
    return request
  }

  private func failure(
    _ bench: Workbench,
    _ request: FileDownloadRequest
  ) async
    -> TransferError?
  {
    do throws(TransferError) {
      _ = try await FileDownload(request, from: bench.store, in: bench.environment).run()
      return nil
    } catch {
      return error
    }
  }

  @Test(
    arguments: [
      String(repeating: "a", count: 232), String(repeating: "b", count: 233),
      String(repeating: "c", count: 255), String(repeating: "\u{e9}", count: 127),
      "x" + String(repeating: "\u{1F600}", count: 63),
    ]
  )
  func aNameOfAnyLengthIsDownloadedAndResumed(name: String) async throws {
    let bench = try Workbench(size: 3 << 20)
    bench.faults.add(Fault(.fail(.accessDenied), operation: .getObject, callNumber: 2))
    #expect(await failure(bench, request(bench, name)) != nil)
    let left = bench.directory.names()
    #expect(left.count == 2, "the checkpoint and the gathered bytes: \(left)")
    #expect(left.allSatisfy { $0.hasSuffix(".dipper-checkpoint") || $0.hasSuffix(".dipper-part") })
    #expect(left.allSatisfy { name.utf8.starts(with: $0.utf8.prefix(200)) })
    bench.store.forgetCalls()
    #expect(await failure(bench, request(bench, name)) == nil)
    #expect(bench.store.calls.receivedByteCount < 3 << 20, "it went on")
    #expect(bench.directory.names() == [name])
    #expect(try bench.directory.bytes(of: name) == bench.content.allBytes)
  }

  @Test func namesThatBeginAlikeHaveFilesOfTheirOwn() async throws {
    let bench = try Workbench(size: 3 << 20)
    let names = ["y", "z"].map { String(repeating: "a", count: 254) + $0 }
    for name in names {
      bench.faults.add(Fault(.fail(.accessDenied), operation: .getObject, callNumber: 2))
      #expect(await failure(bench, request(bench, name)) != nil)
    }
    #expect(bench.directory.names().count == 4)
    for name in names { #expect(await failure(bench, request(bench, name)) == nil) }
    #expect(bench.directory.names() == names)
  }

  @Test func aCheckpointMayHaveTheLongestName() async throws {
    let bench = try Workbench(size: 1000)
    var request = request(bench, "target")
    request.checkpoint = bench.directory.file(String(repeating: "a", count: 255))
    #expect(await failure(bench, request) == nil)
    #expect(bench.directory.names() == ["target"])
  }

  @Test func aTargetThatIsTooLongItselfIsRefusedAtOnce() async throws {
    let bench = try Workbench(size: 1000)
    guard
      case .disk(let failure) = await failure(
        bench,
        request(bench, String(repeating: "a", count: 256))
      )
    else {
      Issue.record("not refused")
      return
    }
    // ENAMETOOLONG.
    #expect(failure.errno == 36)
    #expect(bench.store.calls.isEmpty && bench.directory.names() == [])
  }
}
