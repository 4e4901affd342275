internal import Core
internal import Support

/// Goes through the files below paths of a mount, by the ordinary readdir and stat.
///
/// The caller walks and not the daemon: so the kernel checks permissions and learns the nodes, the
/// names are those that programs see, and the daemon needs no second way through its directories.
/// One name is held for each level of the tree, however many files there are.
package struct TreeWalk {
  /// A file that was found.
  package struct File: Hashable, Sendable {
    /// Its path.
    package var path: [UInt8]
    /// Its size in bytes.
    package var size: Int

    /// Creates a file.
    package init(path: [UInt8], size: Int) {
      self.path = path
      self.size = size
    }
  }

  // Keys have at most 1,024 bytes, so no tree of a bucket is deeper.
  private static let depthMax = 1100

  private let onFile: (File) -> Bool
  private let onFailure: ([UInt8], String) -> Void

  /// Creates a walk.
  ///
  /// - Parameters:
  ///   - onFile: is given each file; returns false to end the walk.
  ///   - onFailure: is given what can't be looked at, and why.
  package init(
    onFile: @escaping (File) -> Bool,
    onFailure: @escaping ([UInt8], String) -> Void
  ) {
    self.onFile = onFile
    self.onFailure = onFailure
  }

  /// Walks a file or a tree.
  ///
  /// - Returns: false if the walk was ended.
  package func walk(_ path: [UInt8]) -> Bool {
    do throws(DiskFailure) {
      let facts = try PathLook.facts(path)
      return walk(path, facts, root: facts.device, depth: 0)
    } catch {
      onFailure(path, error.reason)
      return true
    }
  }

  private func walk(_ path: [UInt8], _ facts: PathLook.Facts, root: UInt64, depth: Int) -> Bool {
    switch facts.kind {
    case .file:
      return onFile(File(path: path, size: facts.size))
    case .other:
      if depth == 0 { onFailure(path, "it is neither a file nor a directory") }
      return true
    case .directory:
      guard depth < Self.depthMax else {
        onFailure(path, "the tree is too deep")
        return true
      }
      return walkDirectory(path, root: root, depth: depth)
    }
  }

  private func walkDirectory(_ path: [UInt8], root: UInt64, depth: Int) -> Bool {
    var goesOn = true
    do throws(DiskFailure) {
      try PathLook.eachName(in: path) { name in
        let child = (path.last == UInt8(ascii: "/") ? path : path + [UInt8(ascii: "/")]) + name
        do throws(DiskFailure) {
          let facts = try PathLook.facts(child)
          // Another mount lies on it: not of this bucket.
          guard facts.device == root else { return true }
          goesOn = walk(child, facts, root: root, depth: depth + 1)
        } catch {
          onFailure(child, error.reason)
        }
        return goesOn
      }
    } catch {
      onFailure(path, error.reason)
    }
    return goesOn
  }
}
