import Dipper

/// The examples of the library's page about uploads; `ExampleTests` runs them.
struct UploadingExamples {
  func upload(bucket: Bucket, path: String, checkpoint: String) async throws -> ObjectInfo {
    var options = UploadOptions()
    options.facts = ObjectFacts(contentType: "video/mp4", metadata: ["project": "blue"])
    // Nothing may be there yet.
    options.condition = .ifAbsent
    options.checkpoint = .at(path: checkpoint)
    let upload = bucket.upload(path, to: "films/a.mp4", options: options)
    let object = try await upload.value
    return object
  }

  func uploadStream(bucket: Bucket, descriptor: Int32) async throws -> ObjectInfo {
    // What a pipe brings can't be read again: there is no checkpoint, and no second try.
    let upload = bucket.upload(streamFrom: descriptor, to: "logs/today.txt")
    let object = try await upload.value
    return object
  }
}
