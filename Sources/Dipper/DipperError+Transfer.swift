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
    case .cancelled: self.init(.paused, "paused")
    }
  }

  /// Creates the error that a transfer ended with.
  ///
  /// - Parameters:
  ///   - error: what the engine says.
  ///   - name: the transfer, to be put in a sentence: "the download of /tmp/x".
  init(_ error: TransferError, of name: String) {
    switch error {
    case .invalid(let sentence): self.init(.invalid, sentence)
    case .store(let error): self.init(error)
    case .fetch(let error): self.init(error)
    case .disk(let failure): self.init(failure)
    case .paused: self.init(.paused, "paused")
    case .stopped: self.init(.cancelled, "stopped")
    case .held(let path, let holder):
      self.init(
        .held,
        "another process works with the checkpoint \(path.utf8.printable) (\(holder.utf8.printable))"
      )
    case .differs(let field, let was, let now):
      self.init(
        .invalid,
        "the checkpoint of \(name) has another \(Self.spelled(field)) "
          + "(\(was.utf8.printable), now \(now.utf8.printable)); give the same arguments, or "
          + "--force-restart to start over, or --abort to give it up"
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
        "\(was.key) changed since \(name) began (ETag \(tags.joined(separator: ", now "))); nothing "
          + "was mixed, --force-restart starts over with what is there now"
      )
    case .targetChanged(let error):
      self.init(.conflict, "the target is not what it must be to be replaced: \(error)")
    case .wrongChecksum(let expected, let actual):
      self.init(
        .failed,
        "the result of \(name) is not what the store has (CRC-64 \(actual) instead of \(expected)); "
          + "its state was discarded"
      )
    }
  }

  /// A field of a checkpoint as a person knows it: those that are options by their name.
  private static func spelled(_ field: String) -> String {
    switch field {
    case "part-size", "if-match", "version-id", "metadata": "--\(field)"
    default: field.replacing("-", with: " ")
    }
  }

  private static func detail(_ cause: StoreError?) -> String { cause.map { ": \($0)" } ?? "" }
}
