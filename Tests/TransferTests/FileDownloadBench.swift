import Core
import Simulation
import Support
import Transfer

extension Workbench {
  /// Asks for the object as the file `target`.
  func request(partSize: Int = 1 << 20) -> FileDownloadRequest {
    var request = FileDownloadRequest(
      storeName: store.name,
      key: version.key,
      target: directory.file("target"),
      partSize: partSize,
      parallel: 3
    )
    request.limits.sizeMin = 1
    return request
  }

  func download(
    _ request: FileDownloadRequest,
    report: @escaping @Sendable (FileDownloadEvent) -> Void = { _ in }
  ) -> FileDownload {
    FileDownload(request, from: store, in: environment, report: report)
  }

  /// Names in the directory beside the target's.
  func leftovers() throws -> [String] {
    try Disk.names(in: directory.path).filter { $0 != "target" }.sorted()
  }
}

/// Why a download failed; nil if it did not.
func outcome(of download: FileDownload) async -> TransferError? {
  do throws(TransferError) {
    _ = try await download.run()
    return nil
  } catch {
    return error
  }
}

/// Why giving a download up failed; nil if it did not.
func abortOutcome(of download: FileDownload) async -> TransferError? {
  do throws(TransferError) {
    try await download.abort()
    return nil
  } catch {
    return error
  }
}
