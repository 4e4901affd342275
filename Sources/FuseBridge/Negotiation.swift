internal import CFuse

/// What the mount and the kernel agree on before the first request.
enum Negotiation {
  /// The largest READ and WRITE, in bytes: the most that the kernel has pages for in one request.
  static let transferSizeMax: UInt32 = 1024 * 1024
  /// How many READs ahead of their readers may be on their way at once, for all files together.
  ///
  /// The kernel's default of 12 is made for a disk; here each waits for a network.
  static let backgroundCountMax: UInt32 = 128

  /// Settles the connection's parameters and capabilities.
  ///
  /// libfuse has set its defaults before: asynchronous and direct reads in parallel, READDIRPLUS
  /// when the caller looks at attributes.
  static func settle(_ connection: inout fuse_conn_info, options: MountOptions) {
    connection.max_write = transferSizeMax
    connection.max_background = backgroundCountMax
    connection.congestion_threshold = backgroundCountMax * 3 / 4
    let window = UInt32(clamping: max(0, options.readAheadKibibytes) * 1024)
    connection.max_readahead = min(connection.max_readahead, window)

    let capable = connection.capable
    func set(_ flag: Int32, _ isWanted: Bool) {
      let bit = UInt32(bitPattern: flag)
      if isWanted {
        connection.want |= bit & capable
      } else {
        connection.want &= ~bit
      }
    }
    set(FUSE_CAP_ASYNC_READ, true)
    set(FUSE_CAP_PARALLEL_DIROPS, true)
    set(FUSE_CAP_READDIRPLUS, true)
    set(FUSE_CAP_READDIRPLUS_AUTO, true)
    // Answers come spliced out of the cache file. Not moved: a page that moves into the mount's
    // page cache leaves the cache file's, and the next reader through another mount finds none.
    set(FUSE_CAP_SPLICE_WRITE, true)
    set(FUSE_CAP_SPLICE_MOVE, false)
    // An object that changed gets a new node, so the pages of a node never go stale by a new time
    // of modification. With this capability each read(2) would also ask for attributes whose
    // time is up.
    set(FUSE_CAP_AUTO_INVAL_DATA, false)
    // Opening and emptying a file is one request, so nobody sees it empty who didn't ask for that.
    set(FUSE_CAP_ATOMIC_O_TRUNC, true)
    // write(2) must report its own failure, and sizes must stay ours to tell.
    set(FUSE_CAP_WRITEBACK_CACHE, false)
  }
}
