internal import Core
internal import Transfer

extension DipperError {
  /// Creates the error that bytes which could not be had are to the caller.
  init(_ error: FetchError) {
    switch error {
    case .changed(let cause):
      self.init(.changed, "the object changed while it was fetched" + Self.detail(cause))
    case .store(let error): self.init(error)
    case .disk(let failure): self.init(failure)
    case .deadline(let reason): self.init(.unreachable, reason)
    case .cancelled: self.init(.cancelled, "paused")
    }
  }

  /// Creates the error that a download to `path` ended with.
  init(_ error: TransferError, of path: String) {
    let shown = path.utf8.printable
    switch error {
    case .invalid(let sentence): self.init(.invalid, sentence)
    case .store(let error): self.init(error)
    case .fetch(let error): self.init(error)
    case .disk(let failure): self.init(failure)
    case .paused: self.init(.cancelled, "paused")
    case .held(_, let holder):
      self.init(.held, "\(shown) is being downloaded by another process (\(holder.utf8.printable))")
    case .differs(let field, let was, let now):
      let name = field.replacing("-", with: " ")
      self.init(
        .invalid,
        "the paused download of \(shown) has another \(name) (\(was.utf8.printable), now "
          + "\(now.utf8.printable)); give the same arguments, or --force-restart to start over, or "
          + "--abort to give it up"
      )
    case .unknownFormat(let checkpoint, let version):
      self.init(
        .failed,
        "the checkpoint \(checkpoint.utf8.printable) has a format that this version doesn't know "
          + "(\(version.utf8.printable)); it is left alone, --force-restart replaces it"
      )
    case .sourceChanged(let was, let now):
      let tags = [was.etag, now?.etag].compactMap { $0?.description.utf8.printable }
      self.init(
        .changed,
        "\(was.key) changed since the download began (ETag \(tags.joined(separator: ", now "))); "
          + "nothing was mixed, --force-restart downloads the new version"
      )
    case .wrongChecksum(let expected, let actual):
      self.init(
        .failed,
        "what arrived of \(shown) is not what the store has (CRC-64 \(actual) instead of \(expected)); "
          + "it was discarded"
      )
    }
  }

  private static func detail(_ cause: StoreError?) -> String { cause.map { ": \($0)" } ?? "" }
}
