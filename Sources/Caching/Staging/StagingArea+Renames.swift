package import Core
internal import Support

extension StagingArea {
  /// The directory for the journals of renamings, beside this one; made if it isn't there.
  package func renamesDirectory() throws(DiskFailure) -> String {
    let parent = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
    let directory = parent.joined(separator: "/") + "/renames"
    try Disk.createDirectory(directory)
    return directory
  }
}
