internal import Dipper

extension StorageRules {
  /// What the help says of them.
  static let table = [
    Option(
      .storageClass,
      .word("CLASS", example: "STANDARD_IA"),
      in: .storage,
      "storage class of what is written, such as STANDARD_IA",
      default: "the store's standard; a copy's is the source's"
    ),
    Option(
      .sse,
      .choice(["s3", "kms", "AES256", "aws:kms"]),
      in: .storage,
      "encrypt with keys of the store (s3, also AES256) or of its key service (kms, also aws:kms)",
      default: "as the bucket says"
    ),
    Option(
      .sseKMSKeyID,
      .text("ID"),
      in: .storage,
      "the key of --sse kms",
      default: "the bucket's, or the account's own"
    ),
    Option(
      .acl,
      .word("CANNED", example: "private or public-read"),
      in: .storage,
      "who may reach what is written, such as private or public-read",
      default: "as the bucket says"
    ),
    Option(
      .tag,
      .tag,
      in: .storage,
      "a tag of what is written; may be given up to ten times",
      default: "none; a copy's are the source's"
    ),
    Option(
      .checksum,
      .choice(UploadChecksum.allCases.map(\.rawValue)),
      in: .storage,
      "what goes along with bytes for the store to check: auto, crc64nvme, crc32c, md5 or none",
      default: "auto: crc64nvme at Amazon; what a store tells is always compared"
    ),
    Option(.sseCustomer, .text("ALGORITHM"), in: .storage, "refused: give --sse s3 or --sse kms"),
    Option(.sseCustomerKey, .text("KEY"), in: .storage, "refused: give --sse s3 or --sse kms"),
  ]
}
