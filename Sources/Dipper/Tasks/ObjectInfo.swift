internal import Core
internal import Transfer

/// What a store says of an object that was transferred.
public struct ObjectInfo: Hashable, Sendable {
  /// The object's key.
  public let key: Bucket.Key
  /// Its bytes.
  public let size: Int
  /// Its tag without quotes; nil if the store gives none.
  public let etag: String?
  /// Its version's id, in a bucket that keeps versions.
  public let versionID: String?
  /// CRC-64/XZ of the whole, where the store tells it (TOS).
  public let crc64: UInt64?

  init(_ stored: StoredObject) {
    key = Bucket.Key(bytes: stored.key.bytes)
    size = stored.size
    etag = stored.etag?.value
    versionID = stored.versionID
    crc64 = stored.crc64
  }

  init(_ key: Bucket.Key, _ completed: CompletedUpload, size: Int) {
    self.key = key
    self.size = size
    etag = completed.etag.value
    versionID = completed.versionID
    crc64 = completed.crc64
  }
}

/// A part of a transfer.
public struct TransferPart: Hashable, Sendable {
  /// Its number, from 1.
  public let number: Int
  /// Its first byte's offset in the object.
  public let offset: Int
  /// Its bytes.
  public let size: Int
  /// The store's tag of it, without quotes; nil for a download.
  public let etag: String?

  init(_ number: Int, _ range: ByteRange, etag: ETag? = nil) {
    self.number = number
    offset = range.lowerBound
    size = range.count
    self.etag = etag?.value
  }
}
