internal import CFuse
internal import Core
internal import Glibc

/// Answers to what opens a file, and so decides how the kernel reads it.
extension Replies {
  /// Answers the open of a file with these flags of open(2).
  static func open(_ node: NodeID, flags: Int32) -> Deliver<OpenAnswer> {
    { _, token, answer in
      guard let raw = token.raw else { return false }
      // Held, because an opening that nobody took is taken back after the answer.
      let channel = FuseChannel.of(raw)
      let isForWriting = flags & O_ACCMODE != O_RDONLY
      let isDirect = answer.isDirect || asksForRequests(flags)
      let way = channel.opened(node, file: isDirect || isForWriting ? nil : answer.wholeFile)
      let isTaken = answering(token) { request in
        switch way {
        case .requests:
          var file = answer.file
          // There is nothing to wait for when it is closed.
          file.noflush = isForWriting ? 0 : 1
          return fuse_reply_open(request, &file)
        // What is written would go into the cache's file without our knowing. Somebody else has opened it
        // to read meanwhile: see `detachIfBacked`.
        case .backed where isForWriting:
          _ = channel.detachIfBacked(node)
          return failing(request, ESTALE)
        case .backed(let backing):
          return cfuse_reply_backed(
            request,
            answer.handle.rawValue,
            backing.number,
            isDirect ? 1 : 0
          )
        }
      }
      if !isTaken { channel.closed(node) }
      return isTaken
    }
  }

  /// Answers the making of a file that was opened with these flags of open(2).
  static func created(flags: Int32) -> Deliver<CreateAnswer> {
    { _, token, answer in
      guard let raw = token.raw else { return false }
      let channel = FuseChannel.of(raw)
      guard let node = answer.entry.node, var parameters = answer.entry.parameters else {
        return answering(token) { failing($0, EIO) }
      }
      // A new node; and one that was there is opened for writing too, or to read what may be written.
      let way = channel.opened(node, file: nil)
      let isTaken = answering(token) { request in
        switch way {
        case .requests:
          var file = answer.open.file
          return fuse_reply_create(request, &parameters, &file)
        case .backed:
          _ = channel.detachIfBacked(node)
          return failing(request, ESTALE)
        }
      }
      if !isTaken { channel.closed(node) }
      return isTaken
    }
  }

  /// Past every cache, programs expect what we take and the file may refuse: reads that aren't aligned
  /// to its disk.
  private static func asksForRequests(_ flags: Int32) -> Bool { flags & cfuse_open_direct != 0 }
}

extension OpenAnswer {
  /// The open file as libfuse wants it; the kernel asks for its reads.
  var file: fuse_file_info {
    var file = fuse_file_info()
    file.fh = handle.rawValue
    file.keep_cache = keepsPageCache ? 1 : 0
    file.direct_io = isDirect ? 1 : 0
    return file
  }
}
