internal import Core
internal import ObjectFiles

/// A file that the store doesn't have yet, or not as it is.
package struct PendingFile: Hashable, Sendable {
  /// The path in the mount.
  package var path: String
  /// The key that it is to be stored at.
  package var key: String
  /// Its bytes.
  package var size: Int
  /// Bytes of it that only the local disk has.
  package var dirtyByteCount: Int
  /// Why it could not be stored; nil if nothing has failed.
  package var failure: String?
  /// Where its bytes are kept on the local disk.
  package var keptAt: String
}

extension MountedBucket {
  /// The files that the store doesn't have as they are.
  package var pendingFiles: [PendingFile] { (drafts?.pending ?? []).map { pendingFile($0) } }

  /// Directories of files that can't be read, and are kept: damaged ones, and those of other versions.
  package var unreadableDrafts: [String] { drafts?.unreadable ?? [] }

  /// Bytes that only the local disk has.
  package var dirtyByteCount: Int { drafts?.dirtyByteCount ?? 0 }

  private func pendingFile(_ draft: Draft) -> PendingFile {
    let key = draft.key
    return PendingFile(
      path: path(of: key),
      key: key.description,
      size: draft.size,
      dirtyByteCount: draft.dirtyByteCount,
      failure: draft.failure?.message,
      keptAt: draft.path
    )
  }

  /// Brings everything to the store that it doesn't have, before the mount ends.
  ///
  /// - Returns: the files of which that failed; their bytes stay on the local disk.
  package func finish() async -> [PendingFile] {
    await keepEmptied()
    return (await drafts?.finish() ?? []).map { pendingFile($0) }
  }
}
