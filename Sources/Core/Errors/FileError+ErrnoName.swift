extension FileError.Code {
  /// The name of the errno that the code becomes, for the log and for `status`.
  package var errnoName: String {
    switch self {
    case .notFound: "ENOENT"
    case .accessDenied: "EACCES"
    case .notPermitted: "EPERM"
    case .stale: "ESTALE"
    case .exists: "EEXIST"
    case .timedOut: "ETIMEDOUT"
    case .inputOutput: "EIO"
    case .noSpace: "ENOSPC"
    case .notSupported: "ENOTSUP"
    case .notImplemented: "ENOSYS"
    case .readOnly: "EROFS"
    case .nameTooLong: "ENAMETOOLONG"
    case .isDirectory: "EISDIR"
    case .notDirectory: "ENOTDIR"
    case .notEmpty: "ENOTEMPTY"
    case .interrupted: "EINTR"
    case .tooLarge: "EFBIG"
    case .invalid: "EINVAL"
    case .noAttribute: "ENODATA"
    case .attributeTooLarge: "E2BIG"
    case .badHandle: "EBADF"
    case .crossDevice: "EXDEV"
    case .noMemory: "ENOMEM"
    case .hostUnreachable: "EHOSTUNREACH"
    }
  }
}
