import Dipper

/// The examples of the library's page about downloads; `ExampleTests` runs them.
struct DownloadingExamples {
  func startDownload(
    of key: Bucket.Key,
    in bucket: Bucket,
    to path: String,
    checkpoint: String
  ) -> TransferTask<DownloadEvent, ObjectInfo> {
    var options = DownloadOptions()
    // On the target's file system, best in its directory; that is where it lies if nothing is said.
    options.temporaryPath = path + ".temp"
    // 0 means 20 MiB; 5 MiB to 5 GiB are taken.
    options.parts.size = 20 << 20
    // Brought into 1 to 1,000.
    options.parts.parallel = 3
    // A file, or a directory for a generated name; each task needs its own.
    options.checkpoint = .at(path: checkpoint)
    // Of the first request and of each part; 0 turns retrying off.
    options.parts.retryCountMax = 3
    return bucket.download(key, to: path, options: options)
  }

  func download(bucket: Bucket, path: String, checkpoint: String) async throws -> [String] {
    var lines: [String] = []
    func show(_ line: String) { lines.append(line) }
    let download = startDownload(
      of: "example/large-file.bin",
      in: bucket,
      to: path,
      checkpoint: checkpoint
    )
    for await event in download.events {
      switch event {
      case .progressed(let byteCount, let size) where size > 0:
        show("\(byteCount * 100 / size) %")
      case .partFailed(let part, let error):
        show("part \(part.number) failed: \(error)")
      default:
        break
      }
    }
    do throws(DipperError) {
      let object = try await download.value
      show("downloaded \(object.size) bytes to \(path)")
    } catch {
      show("the download failed: \(error)")
    }
    return lines
  }

  func pause(bucket: Bucket, path: String, checkpoint: String) async throws -> ObjectInfo {
    let key = Bucket.Key("example/large-file.bin")
    let download = startDownload(of: key, in: bucket, to: path, checkpoint: checkpoint)
    for await event in download.events {
      if case .partSucceeded = event { break }
    }
    // Keeps the checkpoint and the temporary file.
    try download.control.pause()
    do throws(DipperError) {
      _ = try await download.value
    } catch {
      guard error.kind == .paused else { throw error }
    }
    // The same arguments again; the new transfer has a control of its own.
    let resumed = startDownload(of: key, in: bucket, to: path, checkpoint: checkpoint)
    let object = try await resumed.value
    return object
  }

  func abort(bucket: Bucket, path: String, checkpoint: String) async throws {
    let key = Bucket.Key("example/large-file.bin")
    let download = startDownload(of: key, in: bucket, to: path, checkpoint: checkpoint)
    // Removes the checkpoint and the temporary file; the next download begins from zero.
    try download.control.abort()
    do throws(DipperError) {
      _ = try await download.value
    } catch {
      guard error.kind == .aborted else { throw error }
    }
  }
}
