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
