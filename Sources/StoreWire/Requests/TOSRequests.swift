package import Core
internal import Crypto

/// The requests of TOS's own protocol: the common ones, and those that S3 hasn't or whose documents
/// are JSON.
///
/// Source: TOS API reference, the operations of the same names.
package enum TOSRequests: WireRequests {
  package static let spelling = FieldSpelling.tos

  /// CompleteMultipartUpload; the parts go along by ascending number.
  ///
  /// - Throws: `.unsupported` for a condition that names a version: no document says that the
  ///   operation looks at one, and a condition that is ignored would replace what it should protect.
  package static func completeMultipartUpload(
    _ upload: UploadReference,
    parts: [UploadedPart],
    condition: WriteCondition
  ) throws(StoreError) -> WireRequest {
    var wire = try object(.completeMultipartUpload, .post, upload.key)
    guard !condition.namesVersion else {
      throw StoreError(
        .unsupported,
        wire.operation,
        key: wire.key,
        message: "TOS can't complete an upload on the condition that a certain version is there"
      )
    }
    wire.query = [WireRequest.QueryItem("uploadId", upload.uploadID)]
    wire.require(condition, in: spelling)
    wire.isIdempotent = false
    let list = TOSPartList(
      parts: parts.sorted { $0.partNumber < $1.partNumber }
        .map { TOSPartList.Part(number: $0.partNumber, etag: $0.etag.value) }
    )
    try wire.attach(list)
    return try wire.checked()
  }

  /// ListMultipartUploads, of at most 1,000 uploads behind `marker`.
  ///
  /// Keys are asked for as JSON has them, which carries any text: no document says whether an answer
  /// with encoded ones tells that they are.
  package static func listMultipartUploads(
    prefix: ObjectKey,
    after marker: UploadReference? = nil
  ) -> WireRequest {
    uploads(prefix: prefix, after: marker)
  }

  /// Returns true if DeleteMultiObjects can name the key, which JSON does as text; one that it can't
  /// is removed by itself.
  package static func canDeleteTogether(_ key: ObjectKey) -> Bool {
    !key.bytes.isEmpty && String(validating: key.bytes, as: UTF8.self) != nil && MD5() != nil
  }

  /// DeleteMultiObjects, quiet: the answer names only what could not be removed.
  package static func deleteObjects(_ keys: [ObjectKey]) throws(StoreError) -> WireRequest {
    var wire = bucket(.deleteObjects, .post, [WireRequest.QueryItem("delete")])
    let objects = keys.compactMap { key in
      String(validating: key.bytes, as: UTF8.self).map { TOSKeyList.Entry(key: $0) }
    }
    guard objects.count == keys.count else {
      throw .unsendable(.deleteObjects, nil, "a key can't stand in the list of what to remove")
    }
    try wire.attach(TOSKeyList(objects: objects))
    try wire.addDigest()
    return try wire.checked()
  }

  /// RenameObject; directories have a slash at the end of both names.
  ///
  /// Where directories exist by themselves the new name's are made, since no key needs any here.
  package static func renameObject(
    _ request: RenameRequest,
    makesDirectories: Bool
  ) throws(StoreError) -> WireRequest {
    var wire = try object(.renameObject, .put, request.source)
    guard !request.target.bytes.isEmpty else {
      throw .unsendable(wire.operation, wire.key, "an object's key can't be empty")
    }
    wire.query = [
      WireRequest.QueryItem("rename"),
      WireRequest.QueryItem("name", bytes: request.target.bytes),
    ]
    if !request.replaces { wire.require(.ifAbsent, in: spelling) }
    if makesDirectories { wire.fields["x-tos-recursive-mkdir"] = "true" }
    // A repeat finds the old name gone.
    wire.isIdempotent = false
    return try wire.checked()
  }

  /// SetObjectMeta, told to replace all headers and user metadata: by itself it keeps what it isn't
  /// given.
  ///
  /// Source: TOS API reference, "SetObjectMeta", x-tos-metadata-directive; until November 2025
  /// replacing was the default.
  package static func setObjectMeta(_ request: PutRequest) throws(StoreError) -> WireRequest {
    var wire = try object(.setObjectMeta, .post, request.key)
    wire.query = [WireRequest.QueryItem("metadata")]
    var facts = request
    // They aren't metadata: a class is changed by a copy, tags by an operation of their own.
    facts.storageClass = nil
    wire.fields["x-tos-metadata-directive"] = "REPLACE"
    try wire.describe(facts, in: spelling)
    return try wire.checked()
  }

  /// SetObjectTime.
  package static func setObjectTime(
    _ key: ObjectKey,
    to time: Timestamp
  ) throws(StoreError) -> WireRequest {
    var wire = try object(.setObjectTime, .post, key)
    wire.query = [WireRequest.QueryItem("time")]
    let fraction = time.nanoseconds - time.wholeSecond.nanoseconds
    wire.fields["x-tos-modify-timestamp"] = String(time.seconds)
    wire.fields["x-tos-modify-timestamp-ns"] = String(fraction)
    return wire
  }

  /// GetFileStatus, which flat buckets have.
  package static func getFileStatus(_ key: ObjectKey) throws(StoreError) -> WireRequest {
    var wire = try object(.getFileStatus, .get, key)
    wire.query = [WireRequest.QueryItem("stat")]
    return wire
  }

  /// DeleteObject of a directory with all below it.
  package static func deleteDirectory(_ key: ObjectKey) throws(StoreError) -> WireRequest {
    guard !key.bytes.isEmpty else {
      throw .unsendable(.deleteObject, key, "a directory's key can't be empty")
    }
    var wire = try object(.deleteObject, .delete, key.asDirectory)
    wire.query = [WireRequest.QueryItem("recursive", "true")]
    return wire
  }

  /// RestoreObject.
  package static func restoreObject(
    _ key: ObjectKey,
    days: Int,
    tier: RestoreTier
  ) throws(StoreError) -> WireRequest {
    var wire = try object(.restoreObject, .post, key)
    wire.query = [WireRequest.QueryItem("restore")]
    try wire.attach(TOSRestoration(days: days, tier: tier.rawValue))
    try wire.addDigest()
    return wire
  }

  /// PutSymlink.
  package static func putSymlink(
    _ key: ObjectKey,
    to target: LinkTarget
  ) throws(StoreError) -> WireRequest {
    var wire = try object(.putSymlink, .put, key)
    wire.query = [WireRequest.QueryItem("symlink")]
    guard !target.key.bytes.isEmpty else {
      throw .unsendable(wire.operation, wire.key, "the key that a link leads to can't be empty")
    }
    wire.fields["x-tos-symlink-target"] = PercentEncoding.path(target.key.bytes)
    if let bucket = target.bucket { wire.fields["x-tos-symlink-bucket"] = bucket }
    return try wire.checked()
  }

  /// GetSymlink.
  package static func getSymlink(_ key: ObjectKey) throws(StoreError) -> WireRequest {
    var wire = try object(.getSymlink, .get, key)
    wire.query = [WireRequest.QueryItem("symlink")]
    return wire
  }
}

extension WireRequest {
  /// Adds the digest of the document, without which TOS doesn't take some.
  ///
  /// - Throws: `.unsupported` where the administrator has taken MD5 away.
  fileprivate mutating func addDigest() throws(StoreError) {
    guard let digest = MD5.digest(of: document) else {
      throw StoreError(
        .unsupported,
        operation,
        key: key,
        message: "TOS demands an MD5, and this machine's OpenSSL offers none"
      )
    }
    fields["Content-MD5"] = Base64.encode(digest)
  }
}

extension ObjectKey {
  /// The key as a directory's: with a slash at its end.
  fileprivate var asDirectory: ObjectKey {
    isDirectoryMarker ? self : ObjectKey(bytes + [UInt8(ascii: "/")])
  }
}
