internal import Core
internal import Daemon
internal import Dipper
internal import FoundationEssentials
internal import Support

/// `dipper ls`.
struct ListCommand {
  private let invocation: Invocation
  private let isLong: Bool
  private let isJSON: Bool
  private let isRecursive: Bool

  init(_ invocation: Invocation) {
    self.invocation = invocation
    isLong = invocation.has(.long)
    isJSON = invocation.has(.json)
    isRecursive = invocation.has(.recursive)
  }

  func run() async throws(Failure) {
    let url = try BucketURL(invocation.operands[0], for: .prefix)
    do {
      let log = try Log(invocation, otherwise: .standardError)
      let bucket = try await Bucket.open(
        url,
        options: BucketOptions(invocation),
        environment: ProcessEnvironment.variables,
        metrics: Metrics(),
        log: log
      )
      let prefix = try await directory(url.key, in: bucket)
      let count = try await list(prefix, in: bucket)
      guard count > 0 || url.key.isEmpty else {
        throw Failure("nothing in \(url.bucketName) starts with '\(url.key.printable)'")
      }
    } catch let failure as Failure {
      throw failure
    } catch let error as DipperError {
      throw Failure("\(url.bucketName) can't be listed: \(error.description)")
    } catch {
      throw Failure("\(error)")
    }
  }

  /// A prefix without a slash at its end names the directory, if there is one.
  private func directory(_ prefix: [UInt8], in bucket: Bucket) async throws(DipperError) -> [UInt8]
  {
    let slash = UInt8(ascii: "/")
    guard let last = prefix.last, last != slash else { return prefix }
    let directory = prefix + [slash]
    var isDirectory = false
    try await bucket.list(directory, retryCountMax: invocation.number(.maxRetries) ?? 3) { page in
      isDirectory = !page.isEmpty
      // An empty page may come before one that isn't.
      return !isDirectory
    }
    return isDirectory ? directory : prefix
  }

  private func list(_ prefix: [UInt8], in bucket: Bucket) async throws(DipperError) -> Int {
    var count = 0
    var isCut = false
    try await bucket.list(
      prefix,
      isRecursive: isRecursive,
      retryCountMax: invocation.number(.maxRetries) ?? 3
    ) { page in
      count += page.count
      isCut = !Console.write(page.flatMap(line))
      return !isCut
    }
    return count
  }

  private func line(_ entry: Bucket.Entry) -> [UInt8] {
    if isJSON { return Array(StatusReport.text(of: JSONEntry(entry)).utf8) + [0x0A] }
    // Raw bytes into a pipe, where the next program wants the key itself.
    let key = Console.isOutputTerminal ? Array(entry.key.printable.utf8) : entry.key
    guard isLong else { return key + [0x0A] }
    let facts: [String] =
      switch entry.kind {
      case .object:
        [
          "\(entry.size)".leftPadded(14), entry.lastModified ?? "",
          (entry.storageClass ?? "STANDARD").rightPadded(12),
        ]
      case .prefix: ["-".leftPadded(14), String(repeating: " ", count: 20), "-".rightPadded(12)]
      }
    return Array(facts.joined(separator: "  ").utf8) + [0x20, 0x20] + key + [0x0A]
  }

  /// A line of `--json`.
  private struct JSONEntry: Encodable {
    let type: String
    let key: String
    let keyBase64: String?
    let size: Int?
    let lastModified: String?
    let etag: String?
    let storageClass: String?

    init(_ entry: Bucket.Entry) {
      let text = String(validating: entry.key, as: UTF8.self)
      type = entry.kind.rawValue
      key = text ?? entry.key.printable
      // JSON has no bytes; a key that is no text comes twice, to read and to use.
      keyBase64 = text == nil ? Data(entry.key).base64EncodedString() : nil
      size = entry.kind == .object ? entry.size : nil
      lastModified = entry.lastModified
      etag = entry.etag
      storageClass = entry.storageClass
    }

    private enum CodingKeys: String, CodingKey {
      case type
      case key
      case keyBase64 = "key_base64"
      case size
      case lastModified = "last_modified"
      case etag
      case storageClass = "storage_class"
    }
  }
}

extension String {
  /// The text with spaces behind it, `width` columns wide.
  fileprivate func rightPadded(_ width: Int) -> String {
    self + String(repeating: " ", count: Swift.max(0, width - count))
  }
}
