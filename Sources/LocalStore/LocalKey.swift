internal import Core
internal import Support

/// A key as names below the store's directory.
struct LocalKey: Hashable, Sendable {
  /// The key.
  let key: ObjectKey
  /// The directories that lead to it.
  let directories: [FileName]
  /// The file's name, or the directory's for a key that ends in a slash.
  let name: FileName
  /// True if the key ends in a slash: the marker of a directory.
  let isMarker: Bool

  /// Says why a directory can't hold a key.
  struct Unholdable: Error, Hashable {
    /// A clause that goes on after "a directory can't hold this key: ".
    let reason: String
  }

  // Source: limits.h, `NAME_MAX`.
  static let nameSizeMax = 255

  static let keySizeMax = ObjectKey.byteCountMax

  /// The store's own directory inside its directory; no key reaches into it.
  static let privateName = FileName(".dipper-local")

  /// Creates the names of a key.
  init(_ key: ObjectKey) throws(Unholdable) {
    guard !key.bytes.isEmpty else { throw Unholdable(reason: "it is empty") }
    guard key.bytes.count <= Self.keySizeMax else {
      throw Unholdable(reason: "it has more than \(Self.keySizeMax) bytes")
    }
    guard !key.bytes.contains(0) else { throw Unholdable(reason: "it has a NUL byte") }
    isMarker = key.isDirectoryMarker
    var names = try Self.names(isMarker ? key.bytes.dropLast() : key.bytes[...])
    guard names.first != Self.privateName else {
      throw Unholdable(reason: "\"\(Self.privateName)\" is the store's own")
    }
    self.key = key
    name = names.removeLast()
    directories = names
  }

  /// The names of a path whose parts are joined by slashes.
  private static func names(_ path: ArraySlice<UInt8>) throws(Unholdable) -> [FileName] {
    var names: [FileName] = []
    for part in path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
      let dot = UInt8(ascii: ".")
      guard !part.isEmpty else { throw Unholdable(reason: "one of its names is empty") }
      guard !part.elementsEqual([dot]), !part.elementsEqual([dot, dot]) else {
        throw Unholdable(reason: "one of its names is \"\(part.printable)\"")
      }
      guard part.count <= nameSizeMax else {
        throw Unholdable(reason: "one of its names has more than \(nameSizeMax) bytes")
      }
      names.append(FileName(part))
    }
    return names
  }
}
