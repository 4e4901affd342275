package import Core
internal import Crypto

extension S3Requests {
  /// The most keys that one DeleteObjects takes.
  ///
  /// Source: Amazon S3 API Reference, "DeleteObjects".
  package static let deletedKeyCountMax = 1000

  /// Returns true if DeleteObjects can name the key; one that it can't is removed by itself.
  package static func canDeleteTogether(_ key: ObjectKey) -> Bool {
    DeletionDocument.canCarry(key)
  }

  /// DeleteObjects, quiet: the answer names only what could not be removed.
  ///
  /// The checksum of the document is demanded. `Content-MD5` is what every store of the protocol
  /// takes; where this machine has no MD5, the newer SHA-256 goes along instead.
  ///
  /// - Throws: `.invalidRequest` if a key can't stand in XML.
  package static func deleteObjects(_ keys: [ObjectKey]) throws(StoreError) -> WireRequest {
    var wire = WireRequest(
      .deleteObjects,
      .post,
      query: [WireRequest.QueryItem("delete")]
    )
    wire.document = try DeletionDocument.bytes(of: keys)
    wire.bodyHash = .document(wire.document)
    wire.fields["Content-Type"] = "application/xml"
    if let digest = MD5.digest(of: wire.document) {
      wire.fields["Content-MD5"] = Base64.encode(digest)
    } else {
      wire.fields["x-amz-checksum-sha256"] = Base64.encode(SHA256.digest(of: wire.document))
    }
    return try checked(wire)
  }
}
