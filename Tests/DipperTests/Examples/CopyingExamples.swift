import Dipper

/// The examples of the library's page about copies; `ExampleTests` runs them.
struct CopyingExamples {
  func copyPlainly(bucket: Bucket, sourceBucket: Bucket) async throws {
    var options = CopyOptions()
    options.metadata = .replace(ObjectFacts(metadata: ["new-meta-key": "new-meta-value"]))
    let object = try await bucket.copyObject(
      "src-object-name",
      from: sourceBucket,
      to: "object-name",
      options: options
    )
    print("copied, ETag: \(object.etag ?? "none")")
  }

  func copyByHand(bucket: Bucket, sourceBucket: Bucket, size: Int) async throws {
    // 1. Begin a multipart upload.
    let upload = try await bucket.createMultipartUpload("object-name")
    // 2. Have the store copy ranges of the source into parts, which are numbered from 1.
    let partSize = 20 << 20
    var parts: [MultipartUpload.Part] = []
    for (index, start) in stride(from: 0, to: size, by: partSize).enumerated() {
      let part = try await upload.copyPart(
        index + 1,
        from: "src-object-name",
        in: sourceBucket,
        range: start..<min(start + partSize, size)
      )
      parts.append(part)
    }
    // 3. Make the parts the object.
    let object = try await upload.complete(parts)
    print("copied, ETag: \(object.etag ?? "none")")
  }

  func startCopy(
    of sourceKey: Bucket.Key,
    in sourceBucket: Bucket,
    to key: Bucket.Key,
    in bucket: Bucket,
    checkpoint: String
  ) -> TransferTask<CopyEvent, ObjectInfo> {
    var options = CopyOptions()
    // 0 means 20 MiB; 5 MiB to 5 GiB are taken.
    options.parts.size = 20 << 20
    // Brought into 1 to 1,000.
    options.parts.parallel = 3
    // In parts whatever its size; else what the store copies at once is one request.
    options.wholeSizeMax = 0
    // A file, or a directory for a generated name; each task needs its own.
    options.checkpoint = .at(path: checkpoint)
    // Of the first requests and of each part; 0 turns retrying off.
    options.parts.retryCountMax = 3
    return bucket.copy(sourceKey, from: sourceBucket, to: key, options: options)
  }

  func copy(bucket: Bucket, sourceBucket: Bucket, checkpoint: String) async throws -> [String] {
    var lines: [String] = []
    func show(_ line: String) { lines.append(line) }
    let copy = startCopy(
      of: "example/source-large-file.bin",
      in: sourceBucket,
      to: "example/copied-large-file.bin",
      in: bucket,
      checkpoint: checkpoint
    )
    for await event in copy.events {
      switch event {
      case .partSucceeded(let part): show("part \(part.number) copied")
      case .partFailed(let part, let error): show("part \(part.number) failed: \(error)")
      default: break
      }
    }
    let object = try await copy.value
    show("copied, ETag: \(object.etag ?? "none")")
    return lines
  }

  func pause(bucket: Bucket, sourceBucket: Bucket, checkpoint: String) async throws {
    let (source, key): (Bucket.Key, Bucket.Key) = ("example/source-large-file.bin", "copied")
    let copy = startCopy(
      of: source,
      in: sourceBucket,
      to: key,
      in: bucket,
      checkpoint: checkpoint
    )
    for await event in copy.events {
      if case .partSucceeded = event { break }
    }
    // Keeps the checkpoint, and the unfinished upload at the store.
    try copy.control.pause()
    do throws(DipperError) {
      _ = try await copy.value
    } catch {
      guard error.kind == .paused else { throw error }
    }
    // The same arguments again; the new transfer has a control of its own.
    let resumed = startCopy(
      of: source,
      in: sourceBucket,
      to: key,
      in: bucket,
      checkpoint: checkpoint
    )
    _ = try await resumed.value
  }

  func abort(bucket: Bucket, sourceBucket: Bucket, checkpoint: String) async throws {
    let (source, key): (Bucket.Key, Bucket.Key) = ("example/source-large-file.bin", "copied")
    let copy = startCopy(
      of: source,
      in: sourceBucket,
      to: key,
      in: bucket,
      checkpoint: checkpoint
    )
    // Removes the checkpoint and the unfinished upload; the next copy begins from zero.
    try copy.control.abort()
    do throws(DipperError) {
      _ = try await copy.value
    } catch {
      guard error.kind == .aborted else { throw error }
    }
  }
}
