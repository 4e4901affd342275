internal import CFuse
internal import Core
internal import Glibc

/// The functions for what changes files, names and attributes.
extension Operations {
  static func addWriting(_ table: inout fuse_lowlevel_ops) {
    table.create = { raw, parent, name, mode, file in
      guard let request = Request(raw), let name, let file else { return }
      let flags = file.pointee.flags
      request.operations.create(
        FileName(cString: name),
        in: NodeID(parent),
        like: request.newNode(mode),
        mode: OpenMode(flags: flags),
        reply: request.reply(Replies.created(flags: flags))
      )
    }
    table.write = { raw, _, bytes, size, offset, file in
      guard let request = Request(raw), let bytes, let file else { return }
      let (_, isTooFar) = Int(offset).addingReportingOverflow(size)
      guard offset >= 0, !isTooFar else {
        fuse_reply_err(request.raw, EFBIG)
        return
      }
      // What is written to append goes to the end as it is now, wherever the kernel believes that to
      // be; but a page that was written through a mapping has its place.
      let appends = file.pointee.flags & O_APPEND != 0 && file.pointee.writepage == 0
      request.operations.write(
        HandleID(file.pointee.fh),
        UnsafeRawBufferPointer(start: bytes, count: size),
        at: appends ? nil : Int(offset),
        reply: request.reply(Replies.written)
      )
    }
    table.flush = { raw, _, file in
      guard let request = Request(raw), let file else { return }
      request.operations.flush(
        HandleID(file.pointee.fh),
        by: fuse_req_ctx(request.raw)?.pointee.pid ?? 0,
        reply: request.reply(Replies.empty)
      )
    }
    table.fsync = { raw, _, _, file in
      guard let request = Request(raw), let file else { return }
      request.operations.synchronize(
        HandleID(file.pointee.fh),
        reply: request.reply(Replies.empty)
      )
    }
    table.fallocate = { raw, _, mode, offset, length, file in
      guard let request = Request(raw), let file else { return }
      let (end, isTooFar) = Int(offset).addingReportingOverflow(Int(length))
      guard let allocation = Allocation(mode: mode) else {
        fuse_reply_err(request.raw, EOPNOTSUPP)
        return
      }
      guard offset >= 0, length > 0, !isTooFar else {
        fuse_reply_err(request.raw, isTooFar ? EFBIG : EINVAL)
        return
      }
      request.operations.allocate(
        HandleID(file.pointee.fh),
        range: ByteRange(Int(offset), end),
        allocation,
        reply: request.reply(Replies.empty)
      )
    }
  }

  static func addNames(_ table: inout fuse_lowlevel_ops) {
    table.mknod = { raw, parent, name, mode, _ in
      guard let request = Request(raw), let name else { return }
      guard mode & S_IFMT == S_IFREG || mode & S_IFMT == 0 else {
        // A bucket has no devices, pipes and sockets.
        fuse_reply_err(request.raw, EPERM)
        return
      }
      request.operations.makeFile(
        FileName(cString: name),
        in: NodeID(parent),
        like: request.newNode(mode),
        reply: request.reply(Replies.entry)
      )
    }
    table.mkdir = { raw, parent, name, mode in
      guard let request = Request(raw), let name else { return }
      request.operations.makeDirectory(
        FileName(cString: name),
        in: NodeID(parent),
        like: request.newNode(mode),
        reply: request.reply(Replies.entry)
      )
    }
    table.symlink = { raw, target, parent, name in
      guard let request = Request(raw), let target, let name else { return }
      request.operations.makeLink(
        FileName(cString: name),
        in: NodeID(parent),
        to: FileName(cString: target).bytes,
        like: request.newNode(0o777),
        reply: request.reply(Replies.entry)
      )
    }
    table.unlink = { raw, parent, name in
      guard let request = Request(raw), let name else { return }
      request.operations.remove(
        FileName(cString: name),
        in: NodeID(parent),
        reply: request.reply(Replies.empty)
      )
    }
    table.rmdir = { raw, parent, name in
      guard let request = Request(raw), let name else { return }
      request.operations.removeDirectory(
        FileName(cString: name),
        in: NodeID(parent),
        reply: request.reply(Replies.empty)
      )
    }
    table.rename = { raw, parent, name, newParent, newName, flags in
      guard let request = Request(raw), let name, let newName else { return }
      guard flags & ~cfuse_rename_keeping == 0 else {
        // Two names can't be exchanged in one step at any store.
        fuse_reply_err(request.raw, EINVAL)
        return
      }
      request.operations.rename(
        FileName(cString: name),
        in: NodeID(parent),
        to: FileName(cString: newName),
        in: NodeID(newParent),
        replaces: flags & cfuse_rename_keeping == 0,
        reply: request.reply(Replies.empty)
      )
    }
  }

  static func addAttributeChanges(_ table: inout fuse_lowlevel_ops) {
    table.setattr = { raw, node, status, fields, file in
      guard let request = Request(raw), let status else { return }
      let changes = AttributeChanges(status.pointee, fields: fields)
      // Source: fs/open.c, do_sys_truncate, Linux 6.18: it looks the path up again, once.
      if changes.size != nil, request.channel.detachIfBacked(NodeID(node)) {
        fuse_reply_err(request.raw, ESTALE)
        return
      }
      request.operations.setAttributes(
        of: NodeID(node),
        handle: file.map { HandleID($0.pointee.fh) },
        to: changes,
        reply: request.reply(Replies.attributes)
      )
    }
    table.setxattr = { raw, node, name, value, size, flags in
      guard let request = Request(raw), let name else { return }
      let rule: AttributeRule =
        switch flags {
        case cfuse_attribute_creates: .creates
        case cfuse_attribute_replaces: .replaces
        default: .any
        }
      request.operations.setExtendedAttribute(
        String(cString: name),
        of: NodeID(node),
        to: Array(UnsafeRawBufferPointer(start: value, count: size)),
        rule,
        reply: request.reply(Replies.empty)
      )
    }
    table.removexattr = { raw, node, name in
      guard let request = Request(raw), let name else { return }
      request.operations.removeExtendedAttribute(
        String(cString: name),
        of: NodeID(node),
        reply: request.reply(Replies.empty)
      )
    }
  }

  static func addCopying(_ table: inout fuse_lowlevel_ops) {
    table.copy_file_range = { raw, _, start, source, _, offset, target, length, flags in
      guard let request = Request(raw), let source, let target else { return }
      let (end, isTooFar) = Int(start).addingReportingOverflow(length)
      let (_, isTooLarge) = Int(offset).addingReportingOverflow(length)
      guard start >= 0, offset >= 0, flags == 0, !isTooFar, !isTooLarge else {
        fuse_reply_err(request.raw, isTooLarge ? EFBIG : EINVAL)
        return
      }
      request.operations.copyRange(
        from: HandleID(source.pointee.fh),
        ByteRange(Int(start), end),
        to: HandleID(target.pointee.fh),
        at: Int(offset),
        reply: request.reply(Replies.written)
      )
    }
  }

  /// An object has one key, so there are no hard links.
  static func refuseLinks(_ table: inout fuse_lowlevel_ops) {
    table.link = { raw, _, _, _ in refuse(raw, EPERM) }
  }
}

/// Answers with an errno.
///
/// Not a static method, which would capture its type.
private func refuse(_ raw: fuse_req_t?, _ number: Int32) {
  guard let raw else { return }
  fuse_reply_err(raw, number)
}

extension Request {
  /// What a new file is made like: by its caller.
  fileprivate func newNode(_ mode: mode_t) -> NewNode {
    let caller = fuse_req_ctx(raw)
    return NewNode(
      permissions: UInt16(mode & 0o7777),
      userID: caller?.pointee.uid ?? 0,
      groupID: caller?.pointee.gid ?? 0
    )
  }
}

extension OpenMode {
  /// The mode of the flags of open(2).
  init(flags: Int32) {
    self.init()
    writes = flags & O_ACCMODE != O_RDONLY
    // Without the right to write the flag's effect is left open; Linux empties the file all the same.
    truncates = flags & O_TRUNC != 0
    isExclusive = flags & O_EXCL != 0
  }
}

extension Allocation {
  /// What a mode of fallocate(2) asks for; nil if it can't be had.
  init?(mode: Int32) {
    switch mode {
    case 0: self = .reserved
    case cfuse_allocate_keeping: self = .reservedBehindEnd
    case cfuse_allocate_keeping | cfuse_allocate_hole: self = .hole
    case cfuse_allocate_zeros: self = .zeros
    case cfuse_allocate_keeping | cfuse_allocate_zeros: self = .hole
    default: return nil
    }
  }
}

extension AttributeChanges {
  /// The fields of `status` that `fields` names.
  init(_ status: stat, fields: Int32) {
    self.init()
    func has(_ field: Int32) -> Bool { fields & field != 0 }
    if has(FUSE_SET_ATTR_SIZE) { size = Int(status.st_size) }
    if has(FUSE_SET_ATTR_MODE) { permissions = UInt16(status.st_mode & 0o7777) }
    if has(FUSE_SET_ATTR_UID) { userID = status.st_uid }
    if has(FUSE_SET_ATTR_GID) { groupID = status.st_gid }
    if has(FUSE_SET_ATTR_MTIME_NOW) {
      modified = .now
    } else if has(FUSE_SET_ATTR_MTIME) {
      modified = .at(Timestamp(status.st_mtim))
    }
    if has(FUSE_SET_ATTR_ATIME_NOW) {
      accessed = .now
    } else if has(FUSE_SET_ATTR_ATIME) {
      accessed = .at(Timestamp(status.st_atim))
    }
  }
}

extension Timestamp {
  /// The moment of a file's status, clamped to what fits.
  fileprivate init(_ time: timespec) {
    let whole = Timestamp(seconds: time.tv_sec).nanoseconds
    let (sum, overflow) = whole.addingReportingOverflow(Int64(time.tv_nsec))
    self.init(nanoseconds: overflow ? whole : sum)
  }
}
