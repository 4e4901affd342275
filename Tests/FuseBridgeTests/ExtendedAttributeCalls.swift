import Glibc
import Testing

/// The system's calls for extended attributes, which Swift's Glibc module leaves out.
struct ExtendedAttributeCalls {
  typealias Get =
    @convention(c) (
      UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafeMutableRawPointer?, Int
    ) -> Int
  typealias List = @convention(c) (UnsafePointer<CChar>, UnsafeMutableRawPointer?, Int) -> Int
  typealias Set =
    @convention(c) (
      UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafeRawPointer?, Int, Int32
    ) -> Int32
  typealias Remove = @convention(c) (UnsafePointer<CChar>, UnsafePointer<CChar>) -> Int32

  let get: Get
  let list: List
  let set: Set
  let remove: Remove

  init() throws {
    get = unsafeBitCast(try #require(dlsym(nil, "getxattr")), to: Get.self)
    list = unsafeBitCast(try #require(dlsym(nil, "listxattr")), to: List.self)
    set = unsafeBitCast(try #require(dlsym(nil, "setxattr")), to: Set.self)
    remove = unsafeBitCast(try #require(dlsym(nil, "removexattr")), to: Remove.self)
  }
}

/// More of the system's calls that Swift's Glibc module leaves out.
struct FileCalls {
  typealias Allocate = @convention(c) (Int32, Int32, off_t, off_t) -> Int32
  typealias Rename =
    @convention(c) (
      Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32
    ) -> Int32

  /// fallocate(2).
  let allocate: Allocate
  private let renameAt: Rename

  init() throws {
    allocate = unsafeBitCast(try #require(dlsym(nil, "fallocate")), to: Allocate.self)
    renameAt = unsafeBitCast(try #require(dlsym(nil, "renameat2")), to: Rename.self)
  }

  /// renameat2(2) with these flags.
  func rename(_ path: String, _ newPath: String, _ flags: UInt32) -> Int32 {
    renameAt(AT_FDCWD, path, AT_FDCWD, newPath, flags)
  }
}
