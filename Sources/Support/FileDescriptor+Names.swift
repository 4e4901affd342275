internal import CLinux
package import Core
internal import Glibc

extension FileName {
  /// The name as system calls want it, which end it at the first NUL.
  package var cString: [CChar] { bytes.map { CChar(bitPattern: $0) } + [0] }
}

// Below a directory's descriptor a name can't be led elsewhere by what happens to the path.
extension FileDescriptor {
  /// Opens the file `name` of this directory; it is closed on exec.
  ///
  /// - Parameters:
  ///   - name: the file's name.
  ///   - flags: how to open it.
  ///   - permissions: those of a file that is made, less the process's mask.
  /// - Returns: the open file.
  /// - Throws: `DiskFailure`.
  package func open(
    _ name: FileName,
    _ flags: Flags,
    permissions: UInt32 = 0o600
  ) throws(DiskFailure) -> FileDescriptor {
    FileDescriptor(
      owning: try retrying("open \(name)") {
        clinux_openat(number, name.cString, flags.rawValue, permissions)
      }
    )
  }

  /// Gives the file `name` of this directory the name `newName` in `target`, unless there is one.
  ///
  /// - Throws: `DiskFailure` with `EEXIST` if there is.
  package func moveExclusively(
    _ name: FileName,
    to target: FileDescriptor,
    as newName: FileName
  ) throws(DiskFailure) {
    do throws(DiskFailure) {
      try retrying("rename \(name) to \(newName)") {
        clinux_rename_exclusive(number, name.cString, target.number, newName.cString)
      }
    } catch  where error.errno == EINVAL || error.errno == ENOSYS {
      // A file system without that flag: a second link fails just so if there is a file.
      try retrying("link \(name) to \(newName)") {
        linkat(number, name.cString, target.number, newName.cString, 0)
      }
      try retrying("remove \(name)") { unlinkat(number, name.cString, 0) }
    }
  }

  /// Copies bytes of the open file `source` into this one, inside the kernel where it can.
  ///
  /// - Parameters:
  ///   - source: an open descriptor.
  ///   - sourceOffset: where to begin there.
  ///   - offset: where the bytes go here.
  ///   - count: how many at most.
  /// - Returns: how many were copied; 0 at the end of the source.
  /// - Throws: `DiskFailure`; with `EXDEV`, `EINVAL` or the like if the kernel can't for these two.
  package func copyRange(
    from source: Int32,
    at sourceOffset: Int,
    to offset: Int,
    count: Int
  ) throws(DiskFailure) -> Int {
    try Self.copyRange(from: source, at: sourceOffset, to: number, at: offset, count: count)
  }

  /// The same of two descriptors that somebody else closes.
  package static func copyRange(
    from source: Int32,
    at sourceOffset: Int,
    to target: Int32,
    at offset: Int,
    count: Int
  ) throws(DiskFailure) -> Int {
    try retrying("copy from descriptor \(source) to \(target)") {
      clinux_copy_range(source, off_t(sourceOffset), target, off_t(offset), count)
    }
  }
}

// Extended attributes of an open file or directory.
extension FileDescriptor {
  /// The attribute `name`; nil if there is none, or if the file system has no attributes.
  package func attribute(_ name: String) throws(DiskFailure) -> [UInt8]? {
    do throws(DiskFailure) {
      let size = try retrying("get attribute \(name)") {
        clinux_get_attribute(number, name, nil, 0)
      }
      guard size > 0 else { return [] }
      // Source: xattr(7): a value has at most 64 KiB; it may have grown since it was measured.
      var value = [UInt8](repeating: 0, count: 65_536)
      let count = try retrying("get attribute \(name)") {
        clinux_get_attribute(number, name, &value, value.count)
      }
      return Array(value.prefix(count))
    } catch  where error.errno == ENODATA || error.errno == ENOTSUP {
      return nil
    }
  }

  /// Sets an attribute.
  ///
  /// - Returns: false if the file system has no attributes.
  @discardableResult
  package func setAttribute(_ name: String, _ value: [UInt8]) throws(DiskFailure) -> Bool {
    do throws(DiskFailure) {
      try retrying("set attribute \(name)") {
        clinux_set_attribute(number, name, value, value.count)
      }
      return true
    } catch  where error.errno == ENOTSUP {
      return false
    }
  }

  /// Removes an attribute, if there is one of that name.
  package func removeAttribute(_ name: String) throws(DiskFailure) {
    do throws(DiskFailure) {
      try retrying("remove attribute \(name)") { clinux_remove_attribute(number, name) }
    } catch  where error.errno == ENODATA || error.errno == ENOTSUP {
    }
  }

  /// The names of all attributes; none if the file system has no attributes.
  package func attributeNames() throws(DiskFailure) -> [String] {
    do throws(DiskFailure) {
      let count = try retrying("list attributes") { clinux_list_attributes(number, nil, 0) }
      guard count > 0 else { return [] }
      // Source: xattr(7): the list has at most 64 KiB; it may have grown since it was measured.
      var names = [UInt8](repeating: 0, count: 65_536)
      let filled = try retrying("list attributes") {
        clinux_list_attributes(number, &names, names.count)
      }
      return names.prefix(filled).split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    } catch  where error.errno == ENOTSUP {
      return []
    }
  }
}
