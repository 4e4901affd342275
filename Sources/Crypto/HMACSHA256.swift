internal import COpenSSL

/// An HMAC with SHA-256 in the making.
package struct HMACSHA256: ~Copyable {
  private let context: OpaquePointer

  /// Starts an authentication code under `key`, which may be of any length, also empty.
  package init(key: [UInt8]) {
    guard let algorithm = HMACAlgorithm.shared.pointer, let context = EVP_MAC_CTX_new(algorithm)
    else {
      // Such a library can't do TLS either; no request is possible.
      preconditionFailure("this OpenSSL has no HMAC, or there is no memory")
    }
    self.context = context
    // An empty key still needs an address: null means "the key set before".
    let keyBytes = key.isEmpty ? [0] : key
    var name = Array("SHA256\0".utf8).map { CChar($0) }
    let result = name.withUnsafeMutableBufferPointer { name in
      let parameters = [
        OSSL_PARAM_construct_utf8_string("digest", name.baseAddress, 0),
        OSSL_PARAM_construct_end(),
      ]
      return EVP_MAC_init(context, keyBytes, key.count, parameters)
    }
    precondition(result == 1, "this OpenSSL has no HMAC with SHA-256")
  }

  /// Takes the next bytes.
  package mutating func update(_ bytes: RawSpan) {
    bytes.withUnsafeBytes { update($0) }
  }

  /// Takes the next bytes.
  package mutating func update(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { update($0) }
  }

  private mutating func update(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress, !bytes.isEmpty else { return }
    let result = EVP_MAC_update(context, start.assumingMemoryBound(to: UInt8.self), bytes.count)
    precondition(result == 1, "OpenSSL can't go on with an HMAC that it has started")
  }

  /// Ends the code and returns its 32 bytes.
  package consuming func finish() -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: SHA256.byteCount) { buffer, count in
      let result = EVP_MAC_final(context, buffer.baseAddress, &count, SHA256.byteCount)
      precondition(
        result == 1 && count == SHA256.byteCount,
        "OpenSSL can't end an HMAC that it has started"
      )
    }
  }

  /// Returns the code of `bytes` under `key`.
  package static func code(of bytes: [UInt8], key: [UInt8]) -> [UInt8] {
    var code = HMACSHA256(key: key)
    code.update(bytes)
    return code.finish()
  }

  deinit {
    EVP_MAC_CTX_free(context)
  }
}

/// OpenSSL's HMAC, looked up once.
private struct HMACAlgorithm: @unchecked Sendable {
  // Safety: an `EVP_MAC` is immutable once fetched and may be used by all threads.
  // Source: OpenSSL 3.0 manual, EVP_MAC(3), crypto(7).
  let pointer: OpaquePointer?

  static let shared = HMACAlgorithm(pointer: EVP_MAC_fetch(nil, "HMAC", nil))
}
