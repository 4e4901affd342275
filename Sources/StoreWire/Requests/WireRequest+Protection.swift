package import Core
internal import Crypto

/// A checksum of a body as it goes along with it.
package struct BodyDigest: Hashable, Sendable {
  /// Which one.
  package let kind: ChecksumKind
  /// Its bytes in base64, the most significant first.
  package let text: String

  /// A digest in the making; nil is what this machine can't compute.
  package struct Builder: ~Copyable {
    private let kind: ChecksumKind
    // One of them, by the kind.
    private var crc64: CRC64NVME?
    private var crc32: CRC32C?
    private var md5: MD5?

    /// Begins; nil where the administrator has taken MD5 away.
    package init?(_ kind: ChecksumKind) {
      self.kind = kind
      crc64 = kind == .crc64nvme ? CRC64NVME() : nil
      crc32 = kind == .crc32c ? CRC32C() : nil
      md5 = kind == .md5 ? MD5() : nil
      if kind == .md5, md5 == nil { return nil }
    }

    /// Takes the next bytes.
    package mutating func update(_ bytes: RawSpan) {
      crc64?.update(bytes)
      crc32?.update(bytes)
      md5?.update(bytes)
    }

    /// Ends it.
    package consuming func finish() -> BodyDigest {
      var bytes: [UInt8] = []
      if let crc64 { bytes = Self.bytes(crc64.value) }
      if let crc32 { bytes = Self.bytes(crc32.value) }
      let kind = kind
      if let md5 { bytes = md5.finish() }
      return BodyDigest(kind: kind, text: Base64.encode(bytes))
    }

    private static func bytes<Value: FixedWidthInteger>(_ value: Value) -> [UInt8] {
      stride(from: Value.bitWidth - 8, through: 0, by: -8)
        .map { UInt8(truncatingIfNeeded: value >> Value($0)) }
    }
  }
}

extension WireRequest {
  /// Says how the new object is to be encrypted and who may reach it.
  ///
  /// Source: Amazon S3 API Reference, "PutObject"; TOS API reference, "PutObject", and the vendor's SDKs for
  /// the value `kms`.
  mutating func protect(_ protection: ObjectProtection, in spelling: FieldSpelling) {
    if let acl = protection.acl { fields[spelling.prefix + "acl"] = acl }
    let encryption = spelling.prefix + "server-side-encryption"
    switch protection.encryption {
    case nil: break
    case .storeKeys: fields[encryption] = "AES256"
    case .keyService(let keyID):
      fields[encryption] = spelling.keyService
      if let keyID { fields[encryption + spelling.keyIDSuffix] = keyID }
    }
  }

  /// Adds the checksum of the body.
  mutating func add(_ digest: BodyDigest) {
    fields[digest.kind.field] = digest.text
  }

  /// Says which checksum the store is to keep of an object that is made without a body of the caller's:
  /// an upload in parts, a copy.
  ///
  /// The checksum of the whole, so that nobody need name those of the parts at the end.
  ///
  /// Source: Amazon S3 User Guide, "Checking object integrity", "Full object and composite checksum types".
  mutating func keep(_ kind: ChecksumKind) {
    guard kind != .md5 else { return }
    fields["x-amz-checksum-algorithm"] = kind.rawValue.uppercased()
    if operation == .createMultipartUpload { fields["x-amz-checksum-type"] = "FULL_OBJECT" }
  }
}

extension ChecksumKind {
  /// The field that carries it.
  var field: String {
    switch self {
    case .crc64nvme: "x-amz-checksum-crc64nvme"
    case .crc32c: "x-amz-checksum-crc32c"
    case .md5: "Content-MD5"
    }
  }
}
