import Glibc

struct CallFailed: Error {
  let errno: Int32
}

/// Makes a symbolic link.
func makeLink(_ path: String, to target: String) throws {
  if symlink(target, path) != 0 { throw CallFailed(errno: errno) }
}

/// Gives a file a second name.
func makeHardLink(_ path: String, to target: String) throws {
  if link(target, path) != 0 { throw CallFailed(errno: errno) }
}

/// Makes a named pipe.
func makePipe(_ path: String) throws {
  if mkfifo(path, 0o600) != 0 { throw CallFailed(errno: errno) }
}

/// Makes the device that is always full and always empty; only root may.
func makeDevice(_ path: String) throws {
  // Source: Documentation/admin-guide/devices.txt: 1,7 is /dev/full.
  if mknod(path, S_IFCHR | 0o600, dev_t(1 << 8 | 7)) != 0 { throw CallFailed(errno: errno) }
}

/// Gives a file away; only root may.
func giveAway(_ path: String, to user: UInt32) throws {
  if lchown(path, user, user) != 0 { throw CallFailed(errno: errno) }
}

/// Sets permission bits.
func setPermissions(_ path: String, _ bits: UInt32) throws {
  if chmod(path, bits) != 0 { throw CallFailed(errno: errno) }
}

/// Sets when a file was last modified, in seconds since the epoch.
func setModified(_ path: String, _ seconds: Int) throws {
  let moment = timespec(tv_sec: seconds, tv_nsec: 0)
  if utimensat(AT_FDCWD, path, [moment, moment], AT_SYMLINK_NOFOLLOW) != 0 {
    throw CallFailed(errno: errno)
  }
}
