internal import Core
internal import Glibc
internal import Support

/// A multipart upload: a directory under `uploads/` with one file per part, and one that says what
/// it is to become.
///
/// It stays until it is completed or aborted.
struct LocalUpload {
  private static let recordName = FileName("record")
  private static let partPrefix = "part-"

  private let name: FileName
  private let directory: FileDescriptor
  private let record: UploadRecord
  private let commit: Commit

  private var call: LocalCall { commit.call }

  /// Makes a new upload and returns its id.
  static func create(_ request: PutRequest, _ commit: Commit) throws(StoreError) -> String {
    // 128 bits: nobody meets another's upload by chance.
    let numbers = [UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max)]
    let id = numbers.flatMap { number in
      (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }
    .hexadecimal
    let staged = try commit.stage()
    try staged.append(.bytes(UploadRecord(request).encoded), commit.call)
    try commit.call.attempt { () throws(DiskFailure) in
      let directory = try Workspace.makeAndOpen(FileName(id), in: commit.workspace.uploads)
      try staged.move(to: directory, as: recordName, replaces: false)
      if commit.synchronizes {
        try retrying("sync upload") { fsync(staged.descriptor.number) }
        try retrying("sync upload") { fsync(directory.number) }
        try retrying("sync uploads") { fsync(commit.workspace.uploads.number) }
      }
    }
    return id
  }

  /// Opens the upload that `reference` names.
  init(_ reference: UploadReference, _ commit: Commit) throws(StoreError) {
    self.commit = commit
    let call = commit.call
    // An id is 32 digits, so that it can't be a path.
    guard reference.uploadID.utf8.count == 32,
      [UInt8](hexadecimal: reference.uploadID[...]) != nil
    else { throw Self.noSuchUpload(call) }
    let name = FileName(reference.uploadID)
    let opened = try call.attempt { () throws(DiskFailure) -> (FileDescriptor, Kept)? in
      guard let directory = try LocalTree.child(name, of: commit.workspace.uploads),
        let kept = try Self.kept(in: directory)
      else { return nil }
      return (directory, kept)
    }
    guard let (directory, kept) = opened, kept.record.request.key == reference.key else {
      throw Self.noSuchUpload(call)
    }
    self.name = name
    self.directory = directory
    record = kept.record
  }

  /// What an upload's directory says of it.
  private struct Kept {
    var record: UploadRecord
    var initiated: Timestamp
  }

  /// Reads an upload's record; nil if there is none, or none that can be read.
  private static func kept(in directory: FileDescriptor) throws(DiskFailure) -> Kept? {
    guard let facts = try FileFacts.of(recordName, in: directory), facts.kind == .file else {
      return nil
    }
    let file = try directory.open(recordName, [.read, .noFollow])
    var bytes = [UInt8](repeating: 0, count: try file.size())
    let count = bytes.count
    let done = try retrying("read an upload's record") { pread(file.number, &bytes, count, 0) }
    return UploadRecord(encoded: Array(bytes.prefix(done))).map {
      Kept(record: $0, initiated: facts.modified)
    }
  }

  /// The uploads to keys that start with `prefix`, by key and then by age.
  static func unfinished(
    prefix: ObjectKey,
    _ commit: Commit
  ) throws(StoreError) -> [UnfinishedUpload] {
    try commit.call.attempt { () throws(DiskFailure) in
      var uploads: [UnfinishedUpload] = []
      try DirectoryNames.forEach(in: commit.workspace.uploads) { (bytes, _) throws(DiskFailure) in
        let name = FileName(bytes)
        guard let directory = try LocalTree.child(name, of: commit.workspace.uploads),
          let kept = try kept(in: directory), kept.record.request.key.hasPrefix(prefix)
        else { return true }
        let reference = UploadReference(
          key: kept.record.request.key,
          uploadID: String(decoding: bytes, as: UTF8.self)
        )
        uploads.append(UnfinishedUpload(reference: reference, initiated: kept.initiated))
        return true
      }
      return uploads.sorted {
        ($0.reference.key, $0.initiated) < ($1.reference.key, $1.initiated)
      }
    }
  }

  /// Makes a filled file a part.
  func store(_ staged: StagedFile, asPart partNumber: Int) throws(StoreError) -> UploadedPart {
    guard (1...10_000).contains(partNumber) else {
      throw call.error(.invalidRequest, "part numbers go from 1 to 10,000")
    }
    do throws(DiskFailure) {
      try staged.finish(
        ObjectAttributes(PutRequest(key: record.request.key)),
        synchronizes: commit.synchronizes
      )
      try staged.move(to: directory, as: Self.partName(partNumber), replaces: true)
      if commit.synchronizes { try retrying("sync upload") { fsync(directory.number) } }
      let facts = try FileFacts(of: staged.descriptor)
      return UploadedPart(
        partNumber: partNumber,
        etag: facts.etag,
        size: facts.size,
        crc64: staged.checksum
      )
    } catch {
      // The upload was aborted or completed meanwhile.
      throw error.errno == ENOENT ? Self.noSuchUpload(call) : call.failure(error)
    }
  }

  /// The parts, by ascending number.
  func parts() throws(StoreError) -> [UploadedPart] {
    try call.attempt { () throws(DiskFailure) in
      var parts: [UploadedPart] = []
      try DirectoryNames.forEach(in: directory) { (bytes, _) throws(DiskFailure) in
        let name = FileName(bytes)
        guard let number = Self.partNumber(name),
          let facts = try FileFacts.of(name, in: directory), facts.kind == .file
        else { return true }
        parts.append(UploadedPart(partNumber: number, etag: facts.etag, size: facts.size))
        return true
      }
      return parts.sorted { $0.partNumber < $1.partNumber }
    }
  }

  /// Makes the named parts the object.
  func complete(
    _ parts: [UploadedPart],
    _ condition: WriteCondition
  ) throws(StoreError) -> CompletedUpload {
    guard let key = try? LocalKey(record.request.key) else { throw Self.noSuchUpload(call) }
    guard !parts.isEmpty else { throw call.error(.invalidRequest, "no parts were named") }
    let staged = try commit.stage()
    for (index, part) in parts.enumerated() {
      guard index == 0 || parts[index - 1].partNumber < part.partNumber else {
        throw call.error(.invalidRequest, "the parts are not in ascending order")
      }
      try append(part, to: staged)
    }
    try call.attempt { () throws(DiskFailure) in
      try staged.finish(ObjectAttributes(record.request), synchronizes: commit.synchronizes)
    }
    let trash = Workspace.makeName()
    let facts = try commit.publish(staged, as: key, condition: condition) {
      () throws(StoreError) in
      // Nobody completed or aborted it while the parts were copied.
      let isThere = try call.attempt { () throws(DiskFailure) in
        try FileFacts.of(name, in: commit.workspace.uploads) != nil
      }
      guard isThere else { throw Self.noSuchUpload(call) }
    } afterwards: { () throws(StoreError) in
      try discard(as: trash)
    }
    commit.workspace.removeTree(trash)
    return CompletedUpload(etag: facts.etag)
  }

  /// Gives the upload up.
  func abort() throws(StoreError) {
    let trash = Workspace.makeName()
    let lock = try commit.workspace.lockNames(call)
    try discard(as: trash)
    withExtendedLifetime(lock) {}
    commit.workspace.removeTree(trash)
  }

  /// Takes the upload out of the others' sight, all at once.
  private func discard(as trash: FileName) throws(StoreError) {
    do throws(DiskFailure) {
      try retrying("discard an upload") {
        renameat(
          commit.workspace.uploads.number,
          name.cString,
          commit.workspace.temporary.number,
          trash.cString
        )
      }
    } catch {
      throw error.errno == ENOENT ? Self.noSuchUpload(call) : call.failure(error)
    }
  }

  private func append(_ part: UploadedPart, to staged: StagedFile) throws(StoreError) {
    let file = try call.attempt { () throws(DiskFailure) -> FileDescriptor? in
      let name = Self.partName(part.partNumber)
      guard let facts = try FileFacts.of(name, in: directory), facts.kind == .file,
        facts.etag == part.etag
      else { return nil }
      return try directory.open(name, [.read, .noFollow])
    }
    guard let file else {
      throw call.error(.invalidRequest, "part \(part.partNumber) is not there with that tag")
    }
    let facts = try call.attempt { () throws(DiskFailure) in try FileFacts(of: file) }
    try staged.append(ByteRange(0, facts.size), of: file.number, call)
  }

  private static func partName(_ number: Int) -> FileName {
    FileName(partPrefix + String(number))
  }

  private static func partNumber(_ name: FileName) -> Int? {
    let text = String(decoding: name.bytes, as: UTF8.self)
    guard text.hasPrefix(partPrefix) else { return nil }
    return Int(text.dropFirst(partPrefix.count))
  }

  private static func noSuchUpload(_ call: LocalCall) -> StoreError {
    call.error(.noSuchUpload, "there is no such multipart upload")
  }
}
