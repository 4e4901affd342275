internal import CFuse
internal import Core
internal import Glibc

/// The functions that libfuse calls: each makes a typed request of its bytes and passes it on.
///
/// They run on libfuse's threads, to the answer if that is known. What they are passed (names,
/// `fuse_file_info`) is libfuse's and valid only during the call, so it is copied first. C calls
/// them, so none can capture anything: the channel comes from the request.
enum Operations {
  /// The table.
  ///
  /// What is not in it answers `ENOSYS`, which the kernel remembers and emulates: lseek,
  /// access (`default_permissions`), fsync of a directory (names are stored when they are answered),
  /// locks, poll, ioctl.
  static func table() -> fuse_lowlevel_ops {
    var table = fuse_lowlevel_ops()
    table.`init` = { userdata, connection in
      guard let userdata, let connection else { return }
      let channel = Unmanaged<FuseChannel>.fromOpaque(cfuse_userdata_owner(userdata))
        .takeUnretainedValue()
      Negotiation.settle(&connection.pointee, options: channel.options)
    }
    addNodes(&table)
    addFiles(&table)
    addDirectories(&table)
    addExtendedAttributes(&table)
    addWriting(&table)
    addNames(&table)
    addAttributeChanges(&table)
    addCopying(&table)
    refuseLinks(&table)
    return table
  }

  private static func addNodes(_ table: inout fuse_lowlevel_ops) {
    table.lookup = { raw, parent, name in
      guard let request = Request(raw), let name else { return }
      request.operations.lookup(
        FileName(cString: name),
        in: NodeID(parent),
        reply: request.reply(Replies.entry)
      )
    }
    table.forget = { raw, node, count in
      guard let request = Request(raw) else { return }
      request.operations.forget(NodeID(node), count: count)
      fuse_reply_none(request.raw)
    }
    table.forget_multi = { raw, count, forgotten in
      guard let request = Request(raw) else { return }
      for one in UnsafeBufferPointer(start: forgotten, count: count) {
        request.operations.forget(NodeID(one.ino), count: one.nlookup)
      }
      fuse_reply_none(request.raw)
    }
    table.getattr = { raw, node, file in
      guard let request = Request(raw) else { return }
      request.operations.getAttributes(
        of: NodeID(node),
        handle: file.map { HandleID($0.pointee.fh) },
        reply: request.reply(Replies.attributes)
      )
    }
    table.statfs = { raw, _ in
      guard let request = Request(raw) else { return }
      request.operations.statistics(reply: request.reply(Replies.statistics))
    }
    table.readlink = { raw, node in
      guard let request = Request(raw) else { return }
      request.operations.linkTarget(of: NodeID(node), reply: request.reply(Replies.linkTarget))
    }
  }

  private static func addFiles(_ table: inout fuse_lowlevel_ops) {
    table.open = { raw, node, file in
      guard let request = Request(raw), let file else { return }
      let mode = OpenMode(flags: file.pointee.flags)
      // The kernel looks the path up again, once.
      // Source: fs/namei.c, do_filp_open, Linux 6.18.
      if mode.writes || mode.truncates, request.channel.detachIfBacked(NodeID(node)) {
        fuse_reply_err(request.raw, ESTALE)
        return
      }
      request.operations.open(
        NodeID(node),
        mode: mode,
        reply: request.reply(Replies.open(NodeID(node), flags: file.pointee.flags))
      )
    }
    table.read = { raw, _, size, offset, file in
      guard let request = Request(raw), let file else { return }
      let (end, isTooFar) = Int(offset).addingReportingOverflow(Int(clamping: size))
      guard offset >= 0, !isTooFar else {
        fuse_reply_err(request.raw, EINVAL)
        return
      }
      request.operations.read(
        HandleID(file.pointee.fh),
        range: ByteRange(Int(offset), end),
        reply: request.reply(Replies.data)
      )
    }
    table.release = { raw, node, file in
      guard let request = Request(raw), let file else { return }
      request.channel.closed(NodeID(node))
      request.operations.release(
        HandleID(file.pointee.fh),
        reply: request.reply(Replies.empty)
      )
    }
  }

  private static func addDirectories(_ table: inout fuse_lowlevel_ops) {
    table.opendir = { raw, node, file in
      guard let request = Request(raw) else { return }
      request.operations.openDirectory(
        NodeID(node),
        reply: request.reply(Replies.openDirectory)
      )
    }
    table.readdir = { raw, _, size, offset, file in
      Request(raw)?.readDirectory(file, offset: offset, size: size, withAttributes: false)
    }
    table.readdirplus = { raw, _, size, offset, file in
      Request(raw)?.readDirectory(file, offset: offset, size: size, withAttributes: true)
    }
    table.releasedir = { raw, _, file in
      guard let request = Request(raw), let file else { return }
      request.operations.releaseDirectory(
        HandleID(file.pointee.fh),
        reply: request.reply(Replies.empty)
      )
    }
  }

  private static func addExtendedAttributes(_ table: inout fuse_lowlevel_ops) {
    table.getxattr = { raw, node, name, size in
      guard let request = Request(raw), let name else { return }
      request.operations.extendedAttribute(
        String(cString: name),
        of: NodeID(node),
        reply: request.reply(Replies.attributeValue(roomFor: size))
      )
    }
    table.listxattr = { raw, node, size in
      guard let request = Request(raw) else { return }
      request.operations.extendedAttributeNames(
        of: NodeID(node),
        reply: request.reply(Replies.attributeValue(roomFor: size))
      )
    }
  }
}
