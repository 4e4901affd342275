internal import Dipper

/// A line of `get --json`, `put --json` or `cp --json`.
struct TransferEventLine: Encodable {
  private var event: String
  private var size: Int?
  private var bytesDone: Int?
  private var part: Int?
  private var parts: Int?
  private var offset: Int?
  private var length: Int?
  private var path: String?
  private var key: String?
  private var uploadID: String?
  private var etag: String?
  private var versionID: String?
  private var crc64: String?
  private var message: String?

  private init(_ event: String) { self.event = event }

  private init(_ event: String, _ part: TransferPart) {
    self.event = event
    self.part = part.number
    offset = part.offset
    length = part.size
    etag = part.etag
  }

  private init(finished object: ObjectInfo) {
    self.init("finished")
    key = object.key.description
    size = object.size
    etag = object.etag
    versionID = object.versionID
    // A number of JSON is often a double, which 64 bits don't fit in.
    crc64 = object.crc64.map { "\($0)" }
  }

  /// The line of an event of a download.
  init(_ event: DownloadEvent) {
    switch event {
    case .started(let size, let partCount, let count):
      self.init("started")
      self.size = size
      parts = partCount
      bytesDone = count
    case .startedOver(let reason):
      self.init("started_over")
      message = reason
    case .temporaryFileCreated(let path):
      self.init("temporary_file_created")
      self.path = path
    case .temporaryFileFailed(let path, let error):
      self.init("temporary_file_failed")
      self.path = path
      message = error.description
    case .partSucceeded(let part): self.init("part_finished", part)
    case .partFailed(let part, let error):
      self.init("part_failed", part)
      message = error.description
    case .partAborted(let part): self.init("part_aborted", part)
    case .progressed(let count, let size):
      self.init("progress")
      bytesDone = count
      self.size = size
    case .renamed(let path, let object):
      self.init(finished: object)
      self.path = path
    case .renameFailed(let path, let error):
      self.init("rename_failed")
      self.path = path
      message = error.description
    }
  }

  /// The line of an event of an upload or a copy.
  init(_ event: UploadEvent) {
    switch event {
    case .started(let size, let partCount, let count):
      self.init("started")
      self.size = size
      parts = size == nil ? nil : partCount
      bytesDone = count
    case .startedOver(let reason):
      self.init("started_over")
      message = reason
    case .multipartUploadCreated(let id):
      self.init("upload_created")
      uploadID = id
    case .multipartUploadFailed(let error):
      self.init("upload_failed")
      message = error.description
    case .partSucceeded(let part): self.init("part_finished", part)
    case .partFailed(let part, let error):
      self.init("part_failed", part)
      message = error.description
    case .partAborted(let part): self.init("part_aborted", part)
    case .completed(let object): self.init(finished: object)
    case .completionFailed(let error):
      self.init("completion_failed")
      message = error.description
    }
  }

  private enum CodingKeys: String, CodingKey {
    case event
    case size
    case bytesDone = "bytes_done"
    case part
    case parts
    case offset
    case length
    case path
    case key
    case uploadID = "upload_id"
    case etag
    case versionID = "version_id"
    case crc64
    case message
  }
}
