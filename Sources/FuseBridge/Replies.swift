internal import CFuse
internal import Core
internal import Glibc

/// Turns typed answers into bytes for the kernel, one function per kind.
///
/// Each returns false if nobody took the answer. They use neither the port nor a captured value where
/// they can, so that a request's `Reply` needs no allocation.
enum Replies {
  typealias Deliver<Answer> = @Sendable (any ReplyPort, RequestToken, Answer) -> Bool

  static let entry: Deliver<EntryAnswer> = { _, token, answer in
    answering(token) { request in
      guard var parameters = answer.parameters else { return failing(request, EIO) }
      // An absence that must not be kept is an error rather than an entry.
      if answer.node == nil, answer.entryTimeout <= .zero { return fuse_reply_err(request, ENOENT) }
      return fuse_reply_entry(request, &parameters)
    }
  }

  static let attributes: Deliver<AttributesAnswer> = { _, token, answer in
    answering(token) { request in
      var status = answer.attributes.status
      return fuse_reply_attr(request, &status, answer.timeout.inSeconds)
    }
  }

  static let openDirectory: Deliver<OpenAnswer> = { _, token, answer in
    answering(token) { request in
      var file = answer.file
      return fuse_reply_open(request, &file)
    }
  }

  static let data: Deliver<DataAnswer> = { _, token, answer in
    answering(token) { request in
      switch answer {
      case .file(let descriptor, let range):
        return cfuse_reply_file(request, descriptor, off_t(range.lowerBound), range.count)
      case .bytes(let bytes):
        return reply(request, bytes)
      }
    }
  }

  static let written: Deliver<WrittenAnswer> = { _, token, answer in
    answering(token) { fuse_reply_write($0, answer.count) }
  }

  static let linkTarget: Deliver<LinkTargetAnswer> = { _, token, answer in
    answering(token) { request in
      (answer.target + [0]).withUnsafeBytes { bytes in
        guard let text = bytes.assumingMemoryBound(to: CChar.self).baseAddress else { return -EIO }
        return fuse_reply_readlink(request, text)
      }
    }
  }

  static let empty: Deliver<EmptyAnswer> = { _, token, _ in
    answering(token) { fuse_reply_err($0, 0) }
  }

  static let statistics: Deliver<StatisticsAnswer> = { _, token, answer in
    answering(token) { request in
      var status = statvfs()
      status.f_bsize = UInt(clamping: answer.blockSize)
      status.f_frsize = UInt(clamping: answer.blockSize)
      status.f_blocks = UInt(answer.blockCount)
      status.f_bfree = UInt(answer.freeBlockCount)
      status.f_bavail = UInt(answer.freeBlockCount)
      status.f_files = UInt(answer.fileCount)
      status.f_ffree = UInt(answer.freeFileCount)
      status.f_favail = UInt(answer.freeFileCount)
      status.f_namemax = UInt(clamping: answer.nameLengthMax)
      return fuse_reply_statfs(request, &status)
    }
  }

  /// Answers a caller that has room for `size` bytes, or asks how many there are if it is 0.
  static func attributeValue(roomFor size: Int) -> Deliver<AttributeValueAnswer> {
    { _, token, answer in
      answering(token) { request in
        if size == 0 { return fuse_reply_xattr(request, answer.bytes.count) }
        if answer.bytes.count > size { return failing(request, ERANGE) }
        return reply(request, answer.bytes)
      }
    }
  }

  /// Answers with as many entries as fit into `size` bytes.
  static func directory(size: Int, withAttributes: Bool) -> Deliver<DirectoryAnswer> {
    { _, token, answer in
      guard let raw = token.raw else { return false }
      // Held, because the entries that nobody took are given back after the answer.
      let channel = FuseChannel.of(raw)
      var page = DirectoryPage(size: size, withAttributes: withAttributes)
      let isTaken = answering(token) { request in
        guard let buffer = cfuse_thread_buffer(size) else { return failing(request, ENOMEM) }
        guard let used = page.fill(buffer, from: answer.source) else {
          return failing(request, EINVAL)
        }
        return fuse_reply_buf(request, buffer.assumingMemoryBound(to: CChar.self), used)
      }
      if !isTaken { page.giveBack(to: channel.operations) }
      return isTaken
    }
  }

  /// Answers `token`'s request by `body`, which returns libfuse's 0 for an answer that was taken.
  static func answering(_ token: RequestToken, _ body: (fuse_req_t) -> Int32) -> Bool {
    guard let request = token.raw else { return false }
    FuseChannel.of(request).willAnswer(token)
    return body(request) == 0
  }

  /// Answers with an error in place of the answer, which so counts as not taken.
  static func failing(_ request: fuse_req_t, _ number: Int32) -> Int32 {
    fuse_reply_err(request, number)
    return -number
  }

  private static func reply(_ request: fuse_req_t, _ bytes: [UInt8]) -> Int32 {
    bytes.withUnsafeBytes { bytes in
      fuse_reply_buf(request, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
    }
  }
}
