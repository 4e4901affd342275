internal import Core
internal import Support

/// The address of a bucket, of the keys below a prefix of it, or of one object.
///
/// `s3://BUCKET[/REST]` and `tos://BUCKET[/REST]` are split at the first slash behind the bucket.
/// Everything behind it is the key or prefix, byte for byte: nothing is decoded, so any key can be
/// named.
///
/// `file:///DIR[/REST]` does not show where the directory ends, so there is a rule:
///
/// 1. A double slash ends the directory: `file:///data//a/b` is `a/b` in the bucket `/data`.
/// 2. Else, a path that is a directory is the bucket.
/// 3. Else, the path up to its last slash is the bucket, and the last component is the key or
///    prefix in it.
public struct BucketURL: Hashable, Sendable {
  /// The kinds of store.
  public enum Scheme: String, Hashable, Sendable, CaseIterable {
    /// An S3-compatible store.
    case s3
    /// Volcengine or BytePlus TOS.
    case tos
    /// A local directory.
    case file
  }

  /// What the caller will do with the address.
  public enum Purpose: Hashable, Sendable {
    /// Mount it: a local path must be a directory.
    case bucket
    /// List what starts with it.
    case prefix
    /// Use the one object it names: the key must not be empty.
    case object
  }

  /// The kind of store.
  public let scheme: Scheme
  /// The bucket's name; for `file`, the absolute path of its directory.
  public let bucket: String
  /// The bytes of the key or prefix; empty for the whole bucket.
  public let key: [UInt8]

  /// Reads an address from the bytes of a command line's argument.
  ///
  /// - Parameters:
  ///   - bytes: the address.
  ///   - purpose: what it must name.
  ///   - isDirectory: tells whether a local path is an existing directory.
  /// - Throws: `InvalidBucketURL` with a sentence that says what is wrong.
  public init(
    _ bytes: some Collection<UInt8>,
    for purpose: Purpose,
    isDirectory: (String) -> Bool
  ) throws(InvalidBucketURL) {
    let bytes = Array(bytes)
    guard let split = Self.splitScheme(bytes) else {
      throw InvalidBucketURL(
        "\(Self.quoted(bytes)) is not a bucket URL; \(Self.advice(for: bytes))"
      )
    }
    guard let scheme = Scheme(rawValue: split.scheme) else {
      throw InvalidBucketURL(
        "\(Self.quoted(bytes)) names a store that isn't known; use s3://, tos:// or file://"
      )
    }
    self.scheme = scheme
    switch scheme {
    case .s3, .tos:
      (bucket, key) = try Self.splitBucket(split.rest, of: bytes, example: "\(scheme)://BUCKET")
    case .file:
      (bucket, key) = try Self.splitDirectory(split.rest, of: bytes, purpose, isDirectory)
    }
    guard purpose != .object || !key.isEmpty else {
      throw InvalidBucketURL("\(Self.quoted(bytes)) names a whole bucket; add the object's key")
    }
  }

  /// Reads an address; of a local one, this machine's disk tells what it is.
  ///
  /// - Parameters:
  ///   - text: the address.
  ///   - purpose: what it must name.
  /// - Throws: `InvalidBucketURL` with a sentence that says what is wrong.
  public init(_ text: String, for purpose: Purpose) throws(InvalidBucketURL) {
    // A slash leads through a link.
    try self.init(Array(text.utf8), for: purpose) { path in
      (try? Disk.status(of: path + "/"))?.kind == .directory
    }
  }

  /// The bucket without the key, as `status` and messages name it.
  public var bucketName: String { "\(scheme)://\(bucket)" }

  // Everything up to the first "://".
  private static func splitScheme(_ bytes: [UInt8]) -> (scheme: String, rest: ArraySlice<UInt8>)? {
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), colon > 0,
      bytes[colon...].starts(with: Array("://".utf8))
    else { return nil }
    return (String(decoding: bytes[..<colon], as: UTF8.self), bytes[(colon + 3)...])
  }

  private static func splitBucket(
    _ rest: ArraySlice<UInt8>,
    of url: [UInt8],
    example: String
  ) throws(InvalidBucketURL) -> (bucket: String, key: [UInt8]) {
    let slash = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
    let name = rest[..<slash]
    guard !name.isEmpty else {
      throw InvalidBucketURL("\(quoted(url)) has no bucket; write \(example)")
    }
    // What the stores themselves allow is narrower; this keeps host names and paths intact.
    guard name.allSatisfy({ isBucketByte($0) }), name.first != UInt8(ascii: ".") else {
      throw InvalidBucketURL(
        "\(quoted(url)) has a bucket name with characters that no store allows"
          + " (letters, digits, '.', '-' and '_' are)"
      )
    }
    return (String(decoding: name, as: UTF8.self), Array(rest[slash...].dropFirst()))
  }

  private static func splitDirectory(
    _ path: ArraySlice<UInt8>,
    of url: [UInt8],
    _ purpose: Purpose,
    _ isDirectory: (String) -> Bool
  ) throws(InvalidBucketURL) -> (bucket: String, key: [UInt8]) {
    let slash = UInt8(ascii: "/")
    guard path.first == slash else {
      throw InvalidBucketURL(
        "\(quoted(url)) needs an absolute path behind file://, such as file:///srv/data"
      )
    }
    if let double = path.indices.dropLast().first(where: {
      path[$0] == slash && path[$0 + 1] == slash
    }) {
      let directory = try text(path[..<double], of: url)
      return (directory.isEmpty ? "/" : directory, Array(path[(double + 2)...]))
    }
    let whole = try? text(path.last == slash && path.count > 1 ? path.dropLast() : path, of: url)
    if let whole, isDirectory(whole) {
      guard purpose != .object else {
        throw InvalidBucketURL(
          "\(quoted(url)) is a directory; add the object's key",
          isAboutTheDisk: true
        )
      }
      return (whole, [])
    }
    guard purpose != .bucket, path.last != slash, let last = path.lastIndex(of: slash) else {
      throw InvalidBucketURL("\(quoted(url)): there is no such directory", isAboutTheDisk: true)
    }
    let parent = last == path.startIndex ? "/" : try text(path[..<last], of: url)
    guard isDirectory(parent) else {
      throw InvalidBucketURL(
        "\(quoted(url)): there is no directory \(parent.utf8.printable) to be the bucket; if it is "
          + "one above, write // where the bucket ends and the key begins",
        isAboutTheDisk: true
      )
    }
    return (parent, Array(path[(last + 1)...]))
  }

  private static func text(
    _ bytes: ArraySlice<UInt8>,
    of url: [UInt8]
  ) throws(InvalidBucketURL) -> String {
    guard let text = String(validating: bytes, as: UTF8.self), !bytes.contains(0) else {
      throw InvalidBucketURL("\(quoted(url)): the directory's name is not UTF-8")
    }
    return text
  }

  private static func isBucketByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"),
      UInt8(ascii: "_"):
      true
    default: false
    }
  }

  private static func advice(for bytes: [UInt8]) -> String {
    bytes.first == UInt8(ascii: "/")
      ? "for a local directory write file://\(bytes.printable)"
      : "write s3://BUCKET[/PREFIX], tos://BUCKET[/PREFIX] or file:///DIR"
  }

  private static func quoted(_ bytes: [UInt8]) -> String { "'\(bytes.printable)'" }
}

/// An address that can't be used; its message is one sentence.
public struct InvalidBucketURL: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong and what to write instead.
  public let description: String
  /// True if the address is right as such, but what it names isn't there.
  public let isAboutTheDisk: Bool

  init(_ description: String, isAboutTheDisk: Bool = false) {
    self.description = description
    self.isAboutTheDisk = isAboutTheDisk
  }
}
