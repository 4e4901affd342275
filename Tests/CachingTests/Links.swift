import Glibc

struct CallFailed: Error {
  let errno: Int32
}

/// Makes a symbolic link.
func makeLink(_ path: String, to target: String) throws {
  if symlink(target, path) != 0 { throw CallFailed(errno: errno) }
}

/// Sets permission bits.
func setPermissions(_ path: String, _ bits: UInt32) throws {
  if chmod(path, bits) != 0 { throw CallFailed(errno: errno) }
}
