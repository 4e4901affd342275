package import Core
internal import ObjectFiles
internal import Support

/// Symbolic links: objects whose metadata says so, and whose bytes are what the link says.
extension MountedBucket {
  /// The permissions that every link shows.
  static let linkPermissions: UInt16 = 0o777

  /// Bytes of what a link says, at most.
  ///
  /// Source: path_resolution(7), symlink(7): PATH_MAX is 4,096 with the NUL at its end.
  private static let targetLengthMax = 4095

  package func makeLink(
    _ name: FileName,
    in parent: NodeID,
    to target: [UInt8],
    like facts: NewNode,
    reply: consuming Reply<EntryAnswer>
  ) {
    let place: Place
    switch creatable(name, in: parent) {
    case .failure(let error):
      reply.fail(error)
      return
    case .success(let found): place = found
    }
    guard options.metadataStyle != .none else {
      reply.fail(
        FileError(
          .notSupported,
          "a symbolic link is stored by metadata, which --metadata-style none leaves out"
        )
      )
      return
    }
    guard target.count <= Self.targetLengthMax else {
      reply.fail(
        FileError(.nameTooLong, "a symbolic link says at most \(Self.targetLengthMax) bytes")
      )
      return
    }
    guard Self.isTarget(target) else {
      reply.fail(FileError(.invalid, "a symbolic link says something, and has no NUL in it"))
      return
    }
    change("symlink", of: place.key, reply: reply, onUntaken: takeBack) { [self] deadline in
      await stored(place, like: facts, linkingTo: target, by: deadline)
    }
  }

  package func linkTarget(of node: NodeID, reply: consuming Reply<LinkTargetAnswer>) {
    let (known, isLink, draft) = tables.withLock { tables in
      (tables.inodes.node(node), tables.inodes.isLink(node), tables.drafts[node])
    }
    guard let known, let entry = known.entry else {
      reply.fail(Self.unknownNode)
      return
    }
    guard isLink else {
      reply.fail(FileError(.invalid, "this is not a symbolic link"))
      return
    }
    if known.isSuperseded, draft == nil {
      reply.fail(superseded(entry))
      return
    }
    let path = path(of: entry.key)
    guard 1...Self.targetLengthMax ~= draft?.size ?? entry.size else {
      let error = FileError(
        .inputOutput,
        "\"\(path)\" is a symbolic link by its metadata, but has \(entry.size) bytes:"
          + " a link says 1 to \(Self.targetLengthMax)"
      )
      reporter.report(
        error,
        FailureReporter.Operation(name: "readlink", path: path, node: node)
      )
      reply.fail(error)
      return
    }
    change("readlink", of: entry.key, node: node, reply: reply) { [self] _ in
      let bytes =
        if let draft { await draft.bytes() } else {
          await objectFile(of: entry, node: node).bytes()
        }
      return bytes.flatMap { target in
        Self.isTarget(target)
          ? .success(LinkTargetAnswer(target))
          : .failure(
            FileError(
              .inputOutput,
              "\"\(path)\" is a symbolic link by its metadata, but has a NUL in what it says"
            )
          )
      }
    }
  }

  private static func isTarget(_ bytes: [UInt8]) -> Bool { !bytes.isEmpty && !bytes.contains(0) }
}
