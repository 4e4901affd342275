internal import CFuse
internal import Core
internal import Glibc

/// A request of libfuse's with the channel it came through.
struct Request {
  let raw: fuse_req_t
  let channel: FuseChannel

  init?(_ raw: fuse_req_t?) {
    guard let raw else { return nil }
    self.raw = raw
    channel = FuseChannel.of(raw)
  }

  var operations: any FileOperations { channel.operations }

  /// The duty to answer it, by way of `deliver`.
  func reply<Answer: Sendable>(
    _ deliver: @escaping @Sendable (any ReplyPort, RequestToken, Answer) -> Bool
  ) -> Reply<Answer> {
    Reply(RequestToken(raw), port: channel, deliver: deliver)
  }

  func readDirectory(
    _ file: UnsafeMutablePointer<fuse_file_info>?,
    offset: off_t,
    size: Int,
    withAttributes: Bool
  ) {
    guard let file else { return }
    operations.readDirectory(
      HandleID(file.pointee.fh),
      offset: Int(offset),
      withAttributes: withAttributes,
      reply: reply(Replies.directory(size: size, withAttributes: withAttributes))
    )
  }
}

extension FileName {
  /// A copy of a name that ends at its NUL.
  init(cString: UnsafePointer<CChar>) {
    self.init(UnsafeRawBufferPointer(start: cString, count: strlen(cString)))
  }
}
