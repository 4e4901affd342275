internal import Core
internal import Crypto
internal import Support

/// The checkpoint of a copy or an upload before the task runs: where it lies, whose it is, and what an
/// earlier run left in it.
struct TaskCheckpoint: Sendable {
  /// Its path.
  let path: String
  /// The path is the user's own choice, and may lead to something else.
  let isChosen: Bool
  /// What the task is, for whoever comes second.
  let holder: String

  /// Where it lies: at `named`, or in it under a generated name if it is a directory.
  ///
  /// - Parameters:
  ///   - named: a file or a directory.
  ///   - parts: what tells the task from others; nothing that a resumed one may not change.
  ///   - holder: what the task is.
  init(at named: String, naming parts: [[UInt8]], holder: String) {
    path = Self.path(at: named, naming: parts)
    isChosen = path == named
    self.holder = holder
  }

  /// The file `path`, or one in the directory `path` that is named after `parts`.
  static func path(at path: String, naming parts: [[UInt8]]) -> String {
    // A slash leads through a link to a directory.
    guard (try? Disk.status(of: path + "/"))?.kind == .directory else { return path }
    let digest = SHA256.digest(of: Array(parts.joined(separator: [0])))
    return (path.hasSuffix("/") ? path : path + "/")
      + digest.prefix(16).hexadecimal + ".checkpoint"
  }

  /// Runs `body` while nobody else works with this checkpoint.
  func whileLocked<Answer: Sendable>(
    on disk: BlockingPool,
    _ body: () async throws(TransferError) -> Answer
  ) async throws(TransferError) -> Answer {
    let lock = try await disk.run { () throws(TransferError) in try acquire() }
    // However it ends: the kernel's lock goes with the object, and a name without it is litter.
    defer { try? lock.removeFile() }
    return try await body()
  }

  private func acquire() throws(TransferError) -> LockFile {
    do {
      let directory = FileDownloadRequest.directory(of: path)
      guard try Disk.status(of: directory + "/") != nil else {
        throw TransferError.invalid(
          "the checkpoint's directory \(directory) doesn't exist; make it first"
        )
      }
      return try LockFile.acquire(
        CompanionPath.path(path, ".lock", longestSuffix: ".lock"),
        holder: holder
      )
    } catch {
      throw TransferError(error, path: path)
    }
  }

  /// What an earlier run left.
  enum Earlier: Sendable {
    /// Nothing.
    case nothing
    /// This.
    case upload(UploadCheckpoint)
    /// Something that can't be read any more, and why.
    case damaged(String)
    /// A checkpoint of another version of the format.
    case unknown(version: String)
  }

  /// Reads what is there.
  ///
  /// - Throws: if that is no checkpoint at all, or one of another kind.
  func earlier() throws(TransferError) -> Earlier {
    do {
      guard let text = try CheckpointFile.text(at: path) else { return .nothing }
      if isChosen, !text.isEmpty, !CheckpointIdentity.isHead(of: text) {
        throw TransferError.invalid("\(path) is there and is not a checkpoint")
      }
      return .upload(try UploadCheckpoint(parsing: text))
    } catch Checkpoint.ParseError.unknownVersion(let version) {
      return .unknown(version: version)
    } catch Checkpoint.ParseError.damaged(let reason) {
      return .damaged("the checkpoint \(path) is damaged: \(reason)")
    } catch Checkpoint.ParseError.otherKind(let kind) {
      throw .differs(field: "kind", checkpoint: kind, request: holder)
    } catch {
      throw TransferError(error, path: path)
    }
  }

  /// Removes it.
  func remove() throws(TransferError) {
    do throws(DiskFailure) { try Disk.removeFile(path) } catch { throw .disk(error) }
  }
}
