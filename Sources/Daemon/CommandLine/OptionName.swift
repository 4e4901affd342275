/// Every option there is, by its long name; `-o` takes the same names.
package enum OptionName: String, Hashable, Sendable, CaseIterable {
  // Where the bucket is.
  case endpoint
  case region
  case pathStyle = "path-style"
  case customDomain = "custom-domain"
  case profile
  case anonymous
  // How bytes move.
  case partSize = "part-size"
  case parallel
  case maxRetries = "max-retries"
  case limitRate = "limit-rate"
  // What is kept to resume from.
  case checkpoint
  case noCheckpoint = "no-checkpoint"
  case tempFile = "temp-file"
  case forceRestart = "force-restart"
  case abort
  case finish
  // Which version.
  case ifMatch = "if-match"
  case versionID = "version-id"
  // What goes along with the bytes.
  case metadata
  case metadataDirective = "metadata-directive"
  // How objects are stored.
  case storageClass = "storage-class"
  case sse
  case sseKMSKeyID = "sse-kms-key-id"
  case sseCustomer = "sse-c"
  case sseCustomerKey = "sse-c-key"
  case acl
  case tag
  case checksum
  // The mount.
  case foreground
  case readOnly = "read-only"
  case cacheDirectory = "cache-dir"
  case cacheSize = "cache-size"
  case memory
  case metadataTTL = "metadata-ttl"
  case deadline
  case offline
  case uid
  case gid
  case umask
  case fileMode = "file-mode"
  case directoryMode = "dir-mode"
  case metadataStyle = "metadata-style"
  case metadataFrom = "metadata-from"
  case writeBack = "write-back"
  case allowOther = "allow-other"
  case nonEmpty = "nonempty"
  case noPassthrough = "no-passthrough"
  case mountOption = "o"
  // What is shown.
  case progress
  case noProgress = "no-progress"
  case lazy
  case json
  case long
  case recursive
  case watch
  case logLevel = "log-level"
  case logFile = "log-file"
  case logFormat = "log-format"
  case help
  case version

  /// The option as messages name it.
  package var spelling: String { rawValue.utf8.count == 1 ? "-\(rawValue)" : "--\(rawValue)" }
}
