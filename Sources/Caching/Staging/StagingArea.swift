package import Core
package import Support

/// The directory below a store's cache in which drafts are kept until the store has them
/// (docs/cache-format.md).
package final class StagingArea: Sendable {
  /// Its path.
  package let path: String
  private let log: Log

  /// Makes the directory if it isn't there.
  package init(at path: String, log: Log = Log()) throws(DiskFailure) {
    self.path = path
    self.log = log
    try Disk.createDirectory(path)
  }

  /// Makes room for a new draft.
  package func make() throws(DiskFailure) -> StagedDraft {
    while true {
      let digits = String(UInt64.random(in: .min ... .max), radix: 16)
      let id = String(repeating: "0", count: 16 - digits.utf8.count) + digits
      if try Disk.createNewDirectory(path + "/" + id) {
        return StagedDraft(id: id, at: path + "/" + id)
      }
    }
  }
}
