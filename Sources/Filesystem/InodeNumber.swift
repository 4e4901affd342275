internal import Core

/// The number that programs see as `st_ino`: a hash of the key, so that it is the same after a
/// remount (and on another machine) without anything being stored.
///
/// Two keys share a number with a probability of 1 in 2^64; programs that compare numbers to find
/// hard links look at `st_nlink` first, which is 1.
enum InodeNumber {
  /// The mount's root.
  static let root: UInt64 = 1

  /// The hash of a directory's prefix, to be continued with the components of its children.
  struct Prefix {
    fileprivate var hash: UInt64 = 0xCBF2_9CE4_8422_2325

    /// Starts with a prefix.
    init(_ prefix: ObjectKey) { append(prefix.bytes[...]) }

    // Source: Fowler, Noll, Vo; FNV-1a with 64 bits.
    fileprivate mutating func append(_ bytes: ArraySlice<UInt8>) {
      for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
    }
  }

  /// Returns the number of a child of the directory at `prefix`.
  static func of(_ component: ArraySlice<UInt8>, kind: FileKind, in prefix: Prefix) -> UInt64 {
    var state = prefix
    state.append(component)
    // The object at a directory's own key is not the directory.
    if kind == .directory { state.append([UInt8(ascii: "/"), 1]) }
    // Source: Appleby, MurmurHash3's finaliser: it spreads what FNV leaves in the low bits.
    var hash = state.hash
    hash = (hash ^ (hash >> 33)) &* 0xFF51_AFD7_ED55_8CCD
    hash = (hash ^ (hash >> 33)) &* 0xC4CE_B9FE_1A85_EC53
    hash ^= hash >> 33
    return hash <= root ? hash &+ 2 : hash
  }
}
