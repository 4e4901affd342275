/// The commands, by the word that names them.
package enum CommandName: String, Hashable, Sendable, CaseIterable {
  case mount
  case unmount
  case status
  case get
  case put
  case cp
  case ls
  case warm
  case evict
  case map
  case recover
  case doctor
  case demo
}

/// One command: what it takes and what the help says of it.
package struct Command: Sendable {
  /// The word.
  package let name: CommandName
  /// The operands as the help shows them.
  package let operands: String
  /// How many operands it takes.
  package let operandCount: ClosedRange<Int>
  /// What it does, in a few words.
  package let summary: String
  /// What a person should know before the options.
  package let details: String
  /// The options it takes.
  package let options: [OptionName]
  /// Command lines to start from, each with what it does.
  package let examples: [(line: String, meaning: String)]

  private init(
    _ name: CommandName,
    _ operands: String,
    _ operandCount: ClosedRange<Int>,
    _ summary: String,
    details: String = "",
    options: [OptionName] = [],
    examples: [(line: String, meaning: String)] = []
  ) {
    self.name = name
    self.operands = operands
    self.operandCount = operandCount
    self.summary = summary
    self.details = details
    self.options = options
    self.examples = examples
  }

  private static let storeOptions: [OptionName] = [
    .endpoint, .region, .pathStyle, .customDomain, .profile, .anonymous,
  ]
  private static let logOptions: [OptionName] = [.logLevel, .logFile, .logFormat]

  /// Returns the command of this name.
  package static func named(_ name: CommandName) -> Command {
    switch name {
    case .mount: mount
    case .unmount: unmount
    case .status: status
    case .get: get
    case .ls: ls
    case .demo: demo
    case .put: put
    case .cp: cp
    case .warm: warm
    case .evict: evict
    case .map: map
    case .recover: recover
    case .doctor: doctor
    }
  }

  private static let mount = Command(
    .mount,
    "BUCKET-URL MOUNTPOINT",
    2...2,
    "mount a bucket; returns when the mount answers, the daemon stays behind",
    details: """
      BUCKET-URL is s3://BUCKET[/PREFIX], tos://BUCKET[/PREFIX] or file:///DIR. Credentials are looked
      up as other tools do (AWS_ACCESS_KEY_ID and so on, the shared configuration files, web identity,
      a container's agent, instance metadata; for tos:// TOS_ACCESS_KEY and so on, and the files of
      the vendor's tools); they are never given on the command line.
      """,
    options: storeOptions + [
      .foreground, .readOnly, .cacheDirectory, .cacheSize, .memory, .metadataTTL, .deadline,
      .offline, .uid, .gid, .umask, .fileMode, .directoryMode, .metadataStyle,
      .metadataFrom, .writeBack, .allowOther, .nonEmpty, .noPassthrough, .mountOption, .partSize,
      .parallel,
      .maxRetries, .limitRate,
    ] + StorageRules.options + logOptions,
    examples: [
      ("dipper mount s3://data /mnt/data", "mount a bucket"),
      (
        "dipper mount --endpoint http://127.0.0.1:9000 s3://data/2024 ~/data",
        "a server of your own"
      ),
      ("dipper mount --region cn-beijing tos://data /mnt/data", "a bucket of TOS"),
      ("dipper mount file:///srv/bucket /mnt/bucket -o allow_other,cache_size=50G", "a directory"),
      ("s3://data /mnt/data dipper _netdev,region=eu-central-1 0 0", "a line in /etc/fstab"),
    ]
  )

  private static let recover = Command(
    .recover,
    "BUCKET-URL|MOUNTPOINT",
    1...1,
    "find renamings that were interrupted, and finish them",
    details: """
      Lists them: those of this machine by their journals in the cache directory, those of directories that
      other machines began by the markers that these left in the bucket. With --finish it finishes all that
      no living process has, forward: what is still at the old name is moved to the new one. A key that
      somebody has changed at the new name stays at both. A machine that died is known by its marker, which
      it renews; it takes ten minutes to be given up. A bucket that is mounted here is given by its
      MOUNTPOINT. Give the BUCKET-URL with the prefix that is mounted.
      """,
    options: storeOptions + [.cacheDirectory, .finish, .json] + logOptions,
    examples: [
      ("dipper recover s3://data", "what is there to be finished"),
      ("dipper recover --finish s3://data", "finish it"),
      ("dipper recover /mnt/data --json", "of a mount, for a script"),
    ]
  )

  private static let unmount = Command(
    .unmount,
    "MOUNTPOINT",
    1...1,
    "unmount, when what is on its way has been put down (with progress)",
    details: """
      Refused while something uses the mount; what that is, as far as it can be seen, is said. A mount
      whose daemon is gone ("Transport endpoint is not connected") or doesn't answer is cleared.
      """,
    options: [.lazy, .noProgress, .progress],
    examples: [
      ("dipper unmount /mnt/data", "unmount"),
      ("dipper unmount --lazy /mnt/data", "take it out of the tree although something uses it"),
    ]
  )

  private static let status = Command(
    .status,
    "[MOUNTPOINT]",
    0...1,
    "mounts, transfers in progress, cache, counters, last errors",
    options: [.json, .watch],
    examples: [
      ("dipper status", "all mounts"),
      ("dipper status /mnt/data --json", "one mount, for a script"),
      ("dipper status --watch", "go on showing"),
    ]
  )

  private static let get = Command(
    .get,
    "OBJECT-URL [FILE|-]",
    1...2,
    "resumable download",
    details: """
      Ctrl-C pauses: finished parts are kept, and the same command resumes. The target is replaced
      in one step after all has arrived and been verified. FILE may be a directory; '-' is standard
      output, which can't be resumed.
      """,
    options: storeOptions + [
      .partSize, .parallel, .maxRetries, .limitRate, .ifMatch, .versionID, .checkpoint,
      .noCheckpoint, .tempFile, .forceRestart, .abort, .progress, .noProgress, .json,
    ] + logOptions,
    examples: [
      ("dipper get s3://data/big.tar", "download, or go on with it"),
      ("dipper get s3://data/big.tar /tmp/ --parallel 16", "into a directory"),
      ("dipper get s3://data/list.txt - | sort", "to standard output"),
      ("dipper get s3://data/big.tar --abort", "give a paused download up"),
    ]
  )

  private static let put = Command(
    .put,
    "FILE|- OBJECT-URL",
    2...2,
    "resumable upload",
    details: """
      Ctrl-C pauses: finished parts stay at the store, and the same command resumes. The object appears
      whole, when all of it is there. A URL that ends in a slash, or names a whole bucket, gets the file's
      name behind it. '-' is standard input, which can't be resumed: what was sent of it is given up.
      """,
    options: storeOptions + [
      .partSize, .parallel, .maxRetries, .limitRate, .ifMatch, .versionID, .metadata, .checkpoint,
      .noCheckpoint, .forceRestart, .abort, .progress, .noProgress, .json,
    ] + StorageRules.options + logOptions,
    examples: [
      ("dipper put big.tar s3://data/2024/", "upload, or go on with it"),
      ("tar c docs | dipper put - s3://data/docs.tar", "from a pipe"),
      ("dipper put page.html s3://data/ --metadata Content-Type=text/html", "with a media type"),
      (
        "dipper put big.tar s3://data/ --storage-class STANDARD_IA --sse kms --tag team=blue",
        "stored as it is to be kept"
      ),
      ("dipper put big.tar s3://data/2024/ --abort", "give a paused upload up"),
    ]
  )

  private static let cp = Command(
    .cp,
    "OBJECT-URL OBJECT-URL | PATH PATH",
    2...2,
    "copy on the server, resumable; or within a mount",
    details: """
      Both objects are in one store; the buckets may differ. No byte passes through this machine. What the
      store copies at once (5 GiB) is one request, more is copied in parts side by side; so is all that is
      larger than a part where --part-size, --parallel, --checkpoint or --limit-rate asks for parts. Ctrl-C
      pauses: copied parts stay at the store, and the same command resumes. A second URL that ends in a
      slash, or names a whole bucket, gets the source's name behind it. Two paths of one mount are copied by
      the mount, on the server as well, by its own options; there nothing is left to resume.
      """,
    options: storeOptions + [
      .partSize, .parallel, .maxRetries, .limitRate, .ifMatch, .versionID, .metadata,
      .metadataDirective, .checkpoint, .noCheckpoint, .forceRestart, .abort, .progress,
      .noProgress, .json,
    ] + StorageRules.options + logOptions,
    examples: [
      ("dipper cp s3://data/big.tar s3://backup/", "into another bucket"),
      ("dipper cp s3://data/huge s3://data/copy --part-size 64M", "in parts of 64 MiB"),
      (
        "dipper cp s3://data/a s3://data/b --metadata-directive replace --metadata team=blue",
        "with other metadata"
      ),
      ("dipper cp /mnt/data/big.tar /mnt/data/backup/", "within a mount"),
      ("dipper cp s3://data/huge s3://data/copy --abort", "give a paused copy up"),
    ]
  )

  private static let ls = Command(
    .ls,
    "BUCKET-URL",
    1...1,
    "list keys",
    options: [.long, .recursive, .json] + storeOptions + [.maxRetries] + logOptions,
    examples: [
      ("dipper ls s3://data", "one level"),
      ("dipper ls -l -r s3://data/2024/", "everything below a prefix, with sizes"),
      ("dipper ls --json s3://data | jq .key", "for a script"),
    ]
  )

  private static let warm = Command(
    .warm,
    "PATH...",
    1...(.max),
    "fetch whole files or trees of a mount into its cache",
    details: """
      What applications read meanwhile goes first. Ctrl-C stops; what has arrived stays. What is in
      the cache is not fetched again, so the same command goes on. A file that is larger than the
      mount's --cache-size is refused.
      """,
    options: [.progress, .noProgress],
    examples: [
      ("dipper warm /mnt/data/model.bin", "one file"),
      ("dipper warm /mnt/data/2024 /mnt/data/2025", "everything below two directories"),
    ]
  )

  private static let evict = Command(
    .evict,
    "PATH...",
    1...(.max),
    "drop what a mount's cache has of files or trees",
    details: """
      A file that something has open keeps all that is cached of it; it is named, and the exit code
      is 1. The next read fetches again.
      """,
    examples: [
      ("dipper evict /mnt/data/model.bin", "one file"),
      ("dipper evict /mnt/data", "all files of the mount"),
    ]
  )

  private static let map = Command(
    .map,
    "PATH",
    1...1,
    "draw which parts of a file are cached, in flight, dirty or absent",
    options: [.json],
    examples: [
      ("dipper map /mnt/data/model.bin", "a line as wide as the terminal"),
      ("dipper map --json /mnt/data/model.bin", "each range, for a script"),
    ]
  )

  private static let doctor = Command(
    .doctor,
    "[BUCKET-URL]",
    0...1,
    "check this machine, and a bucket from it, and say what to do",
    details: """
      Looks at FUSE, libraries, limits, the cache directory and mounts; with a BUCKET-URL also at
      credentials, endpoint, clock and permissions. It only reads. Each line is ok, a warning, skipped (it couldn't be tried), or
      failed; the exit code is 1 if something failed. No secret is shown.
      """,
    options: storeOptions + [.cacheDirectory, .json],
    examples: [
      ("dipper doctor", "this machine"),
      ("dipper doctor s3://data --endpoint http://127.0.0.1:9000", "a bucket as well"),
    ]
  )

  private static let demo = Command(
    .demo,
    "[MOUNTPOINT]",
    0...1,
    "a sample bucket on the embedded store, mounted; needs nothing",
    options: [.foreground] + logOptions,
    examples: [("dipper demo", "mount it and say what to try")]
  )
}
