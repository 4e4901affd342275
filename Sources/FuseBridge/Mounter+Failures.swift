internal import Glibc
internal import Support

extension Mounter {
  /// Why a mountpoint can't be looked at.
  static func mountpointFailure(_ path: String, _ number: Int32) -> MountError {
    switch number {
    case ENOENT:
      MountError(.mountpointMissing, "there is no directory \(path); make it first")
    case ENOTDIR:
      MountError(
        .notDirectory,
        "a part of the path \(path) is not a directory; choose a directory to mount on"
      )
    case EACCES, EPERM, EROFS:
      MountError(
        .permissionDenied,
        "this user may not mount on \(path): \(errnoDescription(number)); choose a directory that it may write to"
      )
    case ENOTCONN, ECONNABORTED:
      MountError(
        .stale,
        "\(path) is a mount whose process is gone; unmount it with fusermount3 -u, or umount as root"
      )
    default:
      MountError(.refused, "can't mount on \(path): \(errnoDescription(number))")
    }
  }

  /// Why /dev/fuse can't be opened.
  static func deviceFailure(_ number: Int32) -> MountError {
    switch number {
    case ENOENT, ENODEV, ENXIO:
      MountError(
        .deviceMissing,
        "there is no /dev/fuse; load the module with modprobe fuse, or give the container --device /dev/fuse"
      )
    case EACCES, EPERM:
      MountError(
        .deviceNotPermitted,
        "/dev/fuse may not be opened: \(errnoDescription(number)); let its permissions be 0666, or give the container --device /dev/fuse"
      )
    default:
      MountError(.refused, "can't open /dev/fuse: \(errnoDescription(number))")
    }
  }

  /// Why mount(2) failed.
  static func mountFailure(_ path: String, _ number: Int32, options: [String]) -> MountError {
    switch number {
    case EPERM, EACCES:
      MountError(
        .deviceNotPermitted,
        "mounting is not permitted here: \(errnoDescription(number)); in a container it takes --cap-add SYS_ADMIN"
      )
    case EBUSY:
      MountError(.alreadyMounted, "\(path) is in use as a mountpoint; unmount what is there first")
    case EINVAL:
      MountError(
        .refused,
        "the kernel refused one of the mount options \(options.joined(separator: ",")); leave out those given by -o"
      )
    case ENODEV:
      MountError(.deviceMissing, "the kernel has no FUSE; load the module with modprobe fuse")
    default:
      mountpointFailure(path, number)
    }
  }

  /// Why umount2(2) failed.
  static func unmountFailure(_ path: String, _ number: Int32) -> MountError {
    switch number {
    case EBUSY:
      MountError(
        .busy,
        "\(path) is in use; close the files and leave the directories in it, or detach it now with 'dipper unmount --lazy'"
      )
    case EINVAL, ENOENT:
      MountError(.notMounted, "nothing is mounted on \(path)")
    case EPERM, EACCES:
      MountError(.permissionDenied, "this user may not unmount \(path)")
    default:
      MountError(.refused, "can't unmount \(path): \(errnoDescription(number))")
    }
  }

  /// Why fusermount3 did not unmount, from what it printed (always in English).
  static func fusermountRefusal(_ path: String, _ message: String) -> MountError {
    let sentence = "can't unmount \(path): \(message)"
    if message.contains("Device or resource busy") { return MountError(.busy, sentence) }
    // It looks nowhere else for what the user may unmount; a machine without systemd may lack it.
    if message.contains("failed to open /etc/mtab") {
      return MountError(.refused, "\(sentence); as root, ln -s /proc/self/mounts /etc/mtab")
    }
    if message.contains("not found in /etc/mtab") { return MountError(.notMounted, sentence) }
    return MountError(.refused, sentence)
  }

  /// Why fusermount3 could not be run.
  static func fusermountFailure(_ number: Int32) -> MountError {
    switch number {
    case ENOENT:
      MountError(
        .fusermountMissing,
        "fusermount3 is not installed, and only root can mount without it; install the package fuse3"
      )
    case EPERM:
      MountError(.refused, "fusermount3 ended without a mount and without saying why")
    default:
      MountError(.refused, "can't run fusermount3: \(Subprocess.reason(number))")
    }
  }
}
