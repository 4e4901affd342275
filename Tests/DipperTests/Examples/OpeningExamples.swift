import Dipper
import FoundationEssentials

/// The examples of the library's pages about buckets and checkpoints; `ExampleTests` runs them.
struct OpeningExamples {
  let applicationDirectory: String

  func open() async throws -> Bucket {
    var options = BucketOptions()
    options.endpoint = "https://tos-cn-beijing.volces.com"
    options.region = "cn-beijing"
    // From a security token service; without them the environment and the usual files are asked.
    options.credentials = BucketCredentials(
      accessKey: "AKLTEXAMPLE",
      secretKey: "secretkey",
      securityToken: "securityToken"
    )
    let bucket = try await Bucket.open("tos://bucket-name", options: options)
    return bucket
  }

  func checkpointPath(_ fileName: String) throws -> String {
    let directory = applicationDirectory + "/Checkpoints"
    try FileManager.default.createDirectory(
      atPath: directory,
      withIntermediateDirectories: true
    )
    return directory + "/" + fileName
  }
}
