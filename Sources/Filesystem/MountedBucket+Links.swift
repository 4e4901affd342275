package import Core

/// Symbolic links.
extension MountedBucket {
  package func makeLink(
    _ name: FileName,
    in parent: NodeID,
    to target: [UInt8],
    like facts: NewNode,
    reply: consuming Reply<EntryAnswer>
  ) {
    reply.fail(
      writeRefusal ?? FileError(.notSupported, "symbolic links can't be stored in this release")
    )
  }

  package func linkTarget(of node: NodeID, reply: consuming Reply<LinkTargetAnswer>) {
    reply.fail(FileError(.invalid, "this is not a symbolic link"))
  }
}
