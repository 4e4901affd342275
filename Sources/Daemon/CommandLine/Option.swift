internal import Core

/// One option: its names, its value, and what the help says of it.
///
/// This table is the only place that knows them. The parser of long options, the parser of `-o`
/// lists and the help are all made from it.
package struct Option: Sendable {
  /// The long name.
  package let name: OptionName
  /// The letter, if it has one.
  package let letter: Character?
  /// What it takes.
  package let value: ValueKind
  /// What it does, in a few words.
  package let summary: String
  /// What happens without it, if that isn't obvious.
  package let defaultText: String?
  /// The group it is listed under in the help.
  package let group: Group

  /// The groups of the help, in its order.
  package enum Group: String, CaseIterable, Sendable {
    case bucket = "The bucket"
    case mount = "The mount"
    case transfer = "The transfer"
    case storage = "How objects are stored"
    case resuming = "Pausing and resuming"
    case output = "What is shown"
  }

  init(
    _ name: OptionName,
    letter: Character? = nil,
    _ value: ValueKind = .flag,
    in group: Group,
    _ summary: String,
    default defaultText: String? = nil
  ) {
    self.name = name
    self.letter = letter
    self.value = value
    self.group = group
    self.summary = summary
    self.defaultText = defaultText
  }

  /// Returns what `command` says of `name`.
  package static func named(_ name: OptionName, for command: CommandName?) -> Option {
    if name == .partSize, command == .mount {
      return Option(
        .partSize,
        .size,
        in: .transfer,
        "largest ranged request, at least 128 KiB",
        default: "8 MiB"
      )
    }
    if name == .maxRetries, command == .mount {
      return Option(
        .maxRetries,
        .count,
        in: .transfer,
        "retries of each request; 0 turns retrying off",
        default: "as many as --deadline leaves time for"
      )
    }
    if name == .checkpoint, command == .put || command == .cp {
      return Option(
        .checkpoint,
        .text("PATH"),
        in: .resuming,
        "where to keep it: a file, or a directory for a generated name",
        default: "$XDG_STATE_HOME/dipper or ~/.local/state/dipper"
      )
    }
    if name == .versionID, command == .put {
      return Option(
        .versionID,
        .text("ID"),
        in: .transfer,
        "refused: it names a version to read, and an upload makes a new one"
      )
    }
    if name == .logFile, command == .mount || command == .demo {
      return Option(
        .logFile,
        .text("F"),
        in: .output,
        "where it is logged",
        default: "standard error; the system's log for a mount in the background"
      )
    }
    if name == .ifMatch, command == .put {
      return Option(
        .ifMatch,
        .text("ETAG"),
        in: .transfer,
        "replace this version of the object, and nothing else"
      )
    }
    if name == .limitRate, command == .cp {
      return Option(
        .limitRate,
        .rate,
        in: .transfer,
        "bytes that the store may copy per second; copies in parts",
        default: "no limit"
      )
    }
    return table[name] ?? Option(name, in: .output, "")
  }

  // The groups follow the help; inside a group the order is the help's too.
  static let all: [Option] =
    bucketOptions + mountOptions + transferOptions + StorageRules.table + resumeOptions
    + outputOptions

  private static let table = Dictionary(
    all.map { ($0.name, $0) },
    uniquingKeysWith: { first, _ in first }
  )

  private static let bucketOptions = [
    Option(
      .endpoint,
      .url,
      in: .bucket,
      "the service, such as http://127.0.0.1:9000; a name without a scheme means https://",
      default: "from the region"
    ),
    Option(
      .region,
      .text("R"),
      in: .bucket,
      "signing region",
      default: "environment, profile, else asked from the bucket"
    ),
    Option(
      .pathStyle,
      in: .bucket,
      "ENDPOINT/BUCKET/KEY instead of BUCKET.ENDPOINT/KEY",
      default: "on for IP addresses and localhost"
    ),
    Option(
      .customDomain,
      in: .bucket,
      "ENDPOINT/KEY: --endpoint is a domain of the bucket's own"
    ),
    Option(
      .profile,
      .text("P"),
      in: .bucket,
      "profile of the shared configuration files; for tos:// of the vendor's"
    ),
    Option(.anonymous, in: .bucket, "send unsigned requests"),
  ]

  private static let mountOptions = [
    Option(
      .foreground,
      letter: "f",
      in: .mount,
      "stay in the foreground, with the log on standard error"
    ),
    Option(.readOnly, in: .mount, "refuse whatever changes something"),
    Option(
      .cacheDirectory,
      .text("DIR"),
      in: .mount,
      "where fetched parts are kept",
      default: "$XDG_CACHE_HOME/dipper or ~/.cache/dipper"
    ),
    Option(.cacheSize, .size, in: .mount, "how large the cache may grow", default: "20 GiB"),
    Option(.memory, .size, in: .mount, "memory of transfers and listings", default: "256 MiB"),
    Option(
      .metadataTTL,
      .seconds(from: 0, example: "10 or 0.5"),
      in: .mount,
      "how long listings and attributes are trusted",
      default: "10"
    ),
    Option(
      .deadline,
      .seconds(from: 1, example: "60"),
      in: .mount,
      "how long an operation may wait for the store before it fails",
      default: "60"
    ),
    Option(.offline, in: .mount, "show and read what the cache has; ask the store nothing"),
    Option(.uid, .identifier, in: .mount, "owner of all files", default: "the user who mounts"),
    Option(.gid, .identifier, in: .mount, "group of all files", default: "that user's"),
    Option(
      .umask,
      .mode(example: "022"),
      in: .mount,
      "permission bits taken from files and directories"
    ),
    Option(
      .fileMode,
      .mode(example: "644"),
      in: .mount,
      "permissions of files",
      default: "644"
    ),
    Option(
      .directoryMode,
      .mode(example: "755"),
      in: .mount,
      "permissions of directories",
      default: "755"
    ),
    Option(
      .metadataStyle,
      .choice(MetadataStyle.allCases.map(\.rawValue)),
      in: .mount,
      "how owner, mode and time that are set are stored: s3fs, datasync or none",
      default: "s3fs"
    ),
    Option(
      .metadataFrom,
      .choice(MetadataSource.allCases.map(\.rawValue)),
      in: .mount,
      "listing: no request for owner, mode, time and links; head: ask each file that is shown",
      default: "listing"
    ),
    Option(
      .writeBack,
      .seconds(from: 1, example: "5"),
      in: .mount,
      "have close return when the file is safe on the local disk, and store it so much later"
    ),
    Option(.allowOther, in: .mount, "let other users in"),
    Option(.nonEmpty, in: .mount, "mount over a directory that has files in it"),
    Option(
      .lazy,
      in: .mount,
      "detach now, though something uses it; the daemon ends when nothing does any more"
    ),
    Option(
      .noPassthrough,
      in: .mount,
      "have the kernel ask for every byte, also of files that are wholly in the cache"
    ),
    Option(
      .mountOption,
      letter: "o",
      .text("A,B=C"),
      in: .mount,
      "the same options as a list, as mount(8) and fstab give them; also noexec, noatime, sync, dirsync"
    ),
  ]

  private static let transferOptions = [
    Option(
      .partSize,
      .size,
      in: .transfer,
      "size of a part, 5 MiB to 5 GiB; 0 means the default",
      default: "20 MiB"
    ),
    Option(
      .parallel,
      .count,
      in: .transfer,
      "parts in flight, brought into 1 to 1000",
      default: "8"
    ),
    Option(
      .maxRetries,
      .count,
      in: .transfer,
      "retries of each request; 0 turns retrying off",
      default: "3"
    ),
    Option(.limitRate, .rate, in: .transfer, "bytes per second, such as 50M", default: "no limit"),
    Option(.ifMatch, .text("ETAG"), in: .transfer, "only this version of the object"),
    Option(.versionID, .text("ID"), in: .transfer, "a version of a bucket that keeps versions"),
    Option(
      .metadata,
      .pair,
      in: .transfer,
      "user metadata, or a header such as Content-Type=text/plain; may be given more than once"
    ),
    Option(
      .metadataDirective,
      .choice(["copy", "replace"]),
      in: .transfer,
      "headers, metadata and tags of the source, or those of --metadata and nothing else",
      default: "copy"
    ),
  ]

  private static let resumeOptions = [
    Option(
      .checkpoint,
      .text("PATH"),
      in: .resuming,
      "where to keep it: a file, or a directory for a generated name",
      default: "beside the target"
    ),
    Option(.noCheckpoint, in: .resuming, "keep none; an interrupted task starts over"),
    Option(
      .tempFile,
      .text("PATH"),
      in: .resuming,
      "where the parts are gathered; on the target's file system",
      default: "beside the target"
    ),
    Option(.forceRestart, in: .resuming, "start over, whatever the checkpoint says"),
    Option(
      .abort,
      in: .resuming,
      "give up a paused task of the same arguments and clear its state"
    ),
    Option(.finish, in: .resuming, "finish what is found; without it nothing is changed"),
  ]

  private static let outputOptions = [
    Option(.long, letter: "l", in: .output, "size, time and storage class as well"),
    Option(.recursive, letter: "r", in: .output, "every key below, not only one level"),
    Option(.json, in: .output, "JSON instead of text"),
    Option(.watch, in: .output, "go on showing, once a second"),
    Option(
      .progress,
      in: .output,
      "progress bar with rate and time left",
      default: "on for a terminal"
    ),
    Option(.noProgress, in: .output, "no progress bar"),
    Option(
      .logLevel,
      .choice(["debug", "info", "warning", "error"]),
      in: .output,
      "what is logged: debug, info, warning or error",
      default: "warning"
    ),
    Option(
      .logFile,
      .text("F"),
      in: .output,
      "where it is logged",
      default: "standard error"
    ),
    Option(
      .logFormat,
      .choice(["text", "json"]),
      in: .output,
      "how it is logged",
      default: "text"
    ),
    Option(.help, letter: "h", in: .output, "this text"),
    Option(.version, letter: "V", in: .output, "the version"),
  ]
}
