internal import COpenSSL

/// An HMAC with SHA-256 in the making.
package struct HMACSHA256: ~Copyable {
  private let context: OpaquePointer

  /// Starts an authentication code under `key`, which may be of any length, also empty.
  package init(key: [UInt8]) {
    let algorithm = HMACAlgorithm.shared
    guard let pointer = algorithm.pointer, let context = EVP_MAC_CTX_new(pointer) else {
      // Such a library can't do TLS either; no request is possible.
      preconditionFailure("this OpenSSL has no HMAC, or there is no memory")
    }
    self.context = context
    // An empty key still needs an address: null means "the key set before".
    let keyBytes = key.isEmpty ? [0] : key
    let result = EVP_MAC_init(context, keyBytes, key.count, algorithm.parameters)
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

/// OpenSSL's HMAC and the parameters that choose SHA-256, looked up once.
private struct HMACAlgorithm: @unchecked Sendable {
  // Safety: an `EVP_MAC` is immutable once fetched and may be used by all threads; the parameters
  // and the texts they point to are allocated here, never changed and never freed.
  // Source: OpenSSL 3.0 manual, EVP_MAC(3), OSSL_PARAM(3), crypto(7).
  /// OpenSSL's algorithm; nil if there is none.
  let pointer: OpaquePointer?
  /// The choice of SHA-256; a parameter keeps the addresses of its two texts.
  let parameters: UnsafePointer<OSSL_PARAM>

  static let shared = HMACAlgorithm()

  private init() {
    pointer = EVP_MAC_fetch(nil, "HMAC", nil)
    let parameters = UnsafeMutablePointer<OSSL_PARAM>.allocate(capacity: 2)
    parameters.initialize(
      to: OSSL_PARAM_construct_utf8_string(Self.text("digest"), Self.text("SHA256"), 0)
    )
    (parameters + 1).initialize(to: OSSL_PARAM_construct_end())
    self.parameters = UnsafePointer(parameters)
  }

  /// Returns a copy of `text` for C, which lives as long as the process.
  private static func text(_ text: String) -> UnsafeMutablePointer<CChar> {
    let bytes = text.utf8CString
    let copy = UnsafeMutableBufferPointer<CChar>.allocate(capacity: bytes.count)
    _ = copy.initialize(from: bytes)
    guard let start = copy.baseAddress else {
      preconditionFailure("an allocation of at least one byte has an address")
    }
    return start
  }
}
