package import Core

/// How a mounted bucket looks and how patient it is.
package struct FilesystemOptions: Sendable {
  /// The keys that are mounted start with it; a `/` is added at its end if there is none.
  package var prefix = ObjectKey("")
  /// The owner of everything.
  package var userID: UInt32 = 0
  /// The group of everything.
  package var groupID: UInt32 = 0
  /// The permissions of files, before `umask`.
  package var fileMode: UInt16 = 0o644
  /// The permissions of directories, before `umask`.
  package var directoryMode: UInt16 = 0o755
  /// Permission bits that nothing has.
  package var umask: UInt16 = 0
  /// How long what the store said of names and attributes is believed.
  package var metadataTTL: Duration = .seconds(10)
  /// How long an operation may wait for the store.
  package var deadline: Duration = .seconds(60)
  /// How often a failed request is tried again; nil leaves it to the deadline.
  package var retryCountMax: Int?
  /// How long something known already waits for its confirmation before the store counts as
  /// unreachable and the older knowledge is used.
  package var confirmationPatience: Duration = .seconds(5)
  /// How old knowledge may be that is used while the store is unreachable.
  package var staleMax: Duration = .seconds(24 * 3600)
  /// What is known is used without asking the store, however old it is.
  package var isOffline = false
  /// Which content type the name of a new file stands for.
  package var contentTypes = ContentTypes()
  /// How owner, mode and time that a program sets are stored.
  package var metadataStyle = MetadataStyle.s3fs
  /// The storage class of files that are made; nil is the store's standard.
  package var storageClass: String?
  /// The tags of files that are made.
  package var tags: [String: String] = [:]
  /// Whether files are asked for what a listing doesn't tell.
  package var metadataSource = MetadataSource.listing
  /// How long what is set of a closed file or of a directory may wait for what else is set, on the local
  /// disk alone; zero stores each by itself.
  package var attributeDelay: Duration = .zero
  /// How long after it could not be finished a renaming is gone on with; doubled with each failure, up to
  /// sixteen times as long.
  package var renamingDelay: Duration = .seconds(30)
  /// What bounds the guesses of reads.
  package var prefetch = PrefetchPolicy.Limits()
  /// Files that are wholly in the cache are offered to the kernel to read by itself.
  package var offersWholeFiles = false
  /// Bytes of the memory budget that all listings may take together.
  package var listingMemoryMax = 64 << 20
  /// Names known to be absent that are kept, at most.
  package var absentNameCountMax = 10_000

  /// Creates the default options.
  package init() {}

  /// The prefix with its `/`.
  var directoryPrefix: ObjectKey {
    prefix.bytes.isEmpty || prefix.isDirectoryMarker
      ? prefix : ObjectKey(prefix.bytes + [UInt8(ascii: "/")])
  }
}
