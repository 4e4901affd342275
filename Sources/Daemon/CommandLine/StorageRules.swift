internal import Core
package import Dipper

/// What the options that say how objects are stored may be, beyond what each alone may be.
package enum StorageRules {
  /// The options, in the order of the help.
  static let options: [OptionName] = [
    .storageClass, .sse, .sseKMSKeyID, .acl, .tag, .checksum, .sseCustomer, .sseCustomerKey,
  ]

  /// Checks what no store could have.
  static func check(_ invocation: Invocation) throws(UsageError) {
    for name in [OptionName.sseCustomer, .sseCustomerKey] where invocation.has(name) {
      throw UsageError(
        "\(name.spelling) can't be had: a transfer that goes on after an interruption, and every later read, "
          + "would need the key again; give --sse s3 or --sse kms, whose keys the store keeps"
      )
    }
    if invocation.has(.sseKMSKeyID), !["kms", "aws:kms"].contains(invocation.text(.sse)) {
      throw UsageError("--sse-kms-key-id needs --sse kms")
    }
    if let id = invocation.text(.sseKMSKeyID), !id.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) {
      throw UsageError("--sse-kms-key-id needs the id or the name of a key, without spaces")
    }
    // Source: Amazon S3 User Guide, "Categorizing your storage using tags"; the same at TOS.
    if invocation.pairs(.tag).count > 10 {
      throw UsageError("--tag can be given ten times: an object has at most ten tags")
    }
    // A mount that changes nothing stores nothing.
    for fixed in [OptionName.readOnly, .offline] where invocation.has(fixed) {
      guard let name = options.first(where: { invocation.has($0) }) else { continue }
      throw UsageError(
        "\(name.spelling) says how files are stored, and a mount with \(fixed.spelling) stores none; give one "
          + "of them"
      )
    }
  }

  /// Checks what stores of this kind could have.
  ///
  /// - Throws: `UsageError` that names the option.
  package static func check(
    _ invocation: Invocation,
    for scheme: BucketURL.Scheme
  ) throws(UsageError) {
    switch scheme {
    case .file:
      let senseless: [OptionName] = [.storageClass, .sse, .acl, .checksum]
      if let name = senseless.first(where: { invocation.has($0) }) {
        throw UsageError("\(name.spelling) can't be had with file://, which is a plain directory")
      }
    case .s3:
      try check(.acl, of: invocation, among: s3Lists, at: "s3://")
    case .tos:
      try check(.acl, of: invocation, among: tosLists, at: "tos://")
      try check(.storageClass, of: invocation, among: tosClasses, at: "tos://")
      try check(.checksum, of: invocation, among: tosChecksums, at: "tos://")
    }
  }

  private static func check(
    _ name: OptionName,
    of invocation: Invocation,
    among words: [String],
    at store: String
  ) throws(UsageError) {
    guard let text = invocation.text(name), !words.contains(text) else { return }
    throw UsageError(
      "\(name.spelling) needs one of \(words.joined(separator: ", ")) at \(store), not "
        + "'\(text.utf8.printable)'"
    )
  }

  // Source: Amazon S3 User Guide, "Canned ACL".
  private static let s3Lists = [
    "private", "public-read", "public-read-write", "authenticated-read", "aws-exec-read",
    "bucket-owner-read", "bucket-owner-full-control",
  ]
  // Source: TOS API reference, "PutObject", x-tos-acl and x-tos-storage-class.
  private static let tosLists = [
    "private", "public-read", "public-read-write", "authenticated-read", "bucket-owner-read",
    "bucket-owner-full-control", "bucket-owner-entrusted", "default",
  ]
  private static let tosClasses = [
    "STANDARD", "IA", "INTELLIGENT_TIERING", "ARCHIVE_FR", "ARCHIVE", "COLD_ARCHIVE",
    "DEEP_COLD_ARCHIVE",
  ]
  // TOS computes CRC-64/XZ of what it gets and tells it, which is always compared.
  private static let tosChecksums = ["auto", "md5", "none"]
}
