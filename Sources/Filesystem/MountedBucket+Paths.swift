package import Core
internal import ObjectFiles
internal import Support

extension MountedBucket {
  /// The object version behind a path of the mount, by what is known; nobody is asked.
  ///
  /// Whoever gives the path has looked at it through the mount just before, so the kernel has its
  /// nodes and what is known of them is as fresh as what `stat` says.
  ///
  /// - Parameter path: the names from the root of the mount on.
  /// - Returns: the version, or why there is none: `.notFound` if the kernel doesn't know the path,
  ///   `.isDirectory` if it leads to a directory.
  package func version(at path: [FileName]) -> Result<ObjectVersion, FileError> {
    var node = NodeID.root
    for name in path {
      guard let directory = tables.withLock({ $0.inodes.directory(node) }),
        let spelled = NameCodec.meaning(of: name),
        case .child(let child) = resolved(spelled, in: directory),
        let found = tables.withLock({ Self.node(of: child, in: directory.prefix, $0.inodes) })
      else {
        let shown = path.map(\.description).joined(separator: "/")
        return .failure(FileError(.notFound, "the mount doesn't know \"\(shown)\" any more"))
      }
      node = found
    }
    guard let entry = tables.withLock({ $0.inodes.node(node)?.entry }), entry.kind == .file else {
      return .failure(FileError(.isDirectory, "this is a directory"))
    }
    return .success(entry.version)
  }

  /// The node of a name; a plain name leads to the directory where there is an object too.
  private static func node(
    of child: NameCodec.Child,
    in prefix: ObjectKey,
    _ inodes: InodeTable
  ) -> NodeID? {
    let component = child.component[...]
    if !child.isShadowedObject, let directory = inodes.nodeID(component, .directory, in: prefix) {
      return directory
    }
    return inodes.nodeID(component, .file, in: prefix)
  }
}
