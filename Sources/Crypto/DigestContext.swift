internal import COpenSSL

/// OpenSSL's state of one digest, owned: freed when the value ends.
///
/// The two digests below are this with a name. It does not check what it is fed, only that OpenSSL
/// did its part.
struct DigestContext: ~Copyable {
  private let context: OpaquePointer
  private let byteCount: Int

  /// Starts a digest; nil if this OpenSSL does not offer the algorithm (MD5 in FIPS mode).
  init?(_ algorithm: OpaquePointer, byteCount: Int) {
    guard let context = EVP_MD_CTX_new() else { return nil }
    guard EVP_DigestInit_ex(context, algorithm, nil) == 1 else {
      EVP_MD_CTX_free(context)
      return nil
    }
    self.context = context
    self.byteCount = byteCount
  }

  /// Takes the next bytes.
  mutating func update(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress, !bytes.isEmpty else { return }
    let result = EVP_DigestUpdate(context, start, bytes.count)
    precondition(result == 1, "OpenSSL can't go on with a digest that it has started")
  }

  /// Ends the digest and returns its bytes.
  consuming func finish() -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, count in
      var length: UInt32 = 0
      let result = EVP_DigestFinal_ex(context, buffer.baseAddress, &length)
      precondition(
        result == 1 && Int(length) == byteCount,
        "OpenSSL can't end a digest that it has started"
      )
      count = Int(length)
    }
  }

  deinit {
    EVP_MD_CTX_free(context)
  }
}

/// A digest algorithm, looked up once: each look-up in OpenSSL 3 costs about as much as hashing
/// a kilobyte.
struct DigestAlgorithm: @unchecked Sendable {
  // Safety: an `EVP_MD` is immutable once fetched and may be used by all threads.
  // Source: OpenSSL 3.0 manual, EVP_MD_fetch(3), crypto(7).
  /// OpenSSL's algorithm, which lives as long as the process; nil if there is none of that name.
  let pointer: OpaquePointer?

  /// Looks up the algorithm `name`, also where only FIPS algorithms are the default.
  init(_ name: String) {
    pointer = EVP_MD_fetch(nil, name, "-fips")
  }
}
