package import Core

/// Why a cache can't be used at all.
package enum CacheError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The directory breaks a rule; the sentence says which.
  case refused(String)
  /// Another process works with it; the text says which one and for what.
  case held(directory: String, by: String)
  /// The disk failed.
  case disk(DiskFailure)

  package var description: String {
    switch self {
    case .refused(let sentence): sentence
    case .held(let directory, let holder):
      "the cache \(directory) is in use by \(holder); give this mount another --cache-dir"
    case .disk(let failure): "the cache can't be used: \(failure)"
    }
  }
}
