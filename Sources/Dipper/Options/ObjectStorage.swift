internal import Core

/// How a store encrypts objects, with keys that it or its provider keeps.
///
/// Keys that the client brings with each request (SSE-C) can't be had: a transfer that goes on after an
/// interruption would need the key again, and no checkpoint may have it.
public enum ObjectEncryption: Hashable, Sendable {
  /// With keys that the store keeps.
  case storeKeys
  /// With a key of the provider's key management service; without an id the bucket's, or the account's own.
  case keyService(keyID: String? = nil)

  var core: ServerSideEncryption {
    switch self {
    case .storeKeys: .storeKeys
    case .keyService(let keyID): .keyService(keyID: keyID)
    }
  }
}

/// Which checksum goes along with what is uploaded, so that the store refuses what was damaged on its way.
public enum UploadChecksum: String, Hashable, Sendable, CaseIterable {
  /// CRC-64/NVME at Amazon's own endpoints, else none; what the store tells of what it got is compared.
  case automatic = "auto"
  /// CRC-64/NVME, for S3.
  case crc64nvme
  /// CRC-32C, for S3.
  case crc32c
  /// `Content-MD5`.
  case md5
  /// None is sent; what the store tells of what it got is compared all the same.
  case none

  var core: ChecksumChoice {
    switch self {
    case .automatic: .automatic
    case .none: .none
    case .crc64nvme: .always(.crc64nvme)
    case .crc32c: .always(.crc32c)
    case .md5: .always(.md5)
    }
  }
}

extension BucketOptions {
  /// What a checkpoint must agree with, by the names that users know: what was begun one way must not be
  /// finished another.
  package var storageTask: [String: String] {
    var task: [String: String] = [:]
    task["acl"] = acl
    switch encryption {
    case nil: break
    case .storeKeys: task["sse"] = "s3"
    case .keyService(let keyID):
      task["sse"] = "kms"
      task["sse-kms-key-id"] = keyID
    }
    if checksum != .automatic { task["checksum"] = checksum.rawValue }
    return task
  }
}
