import Crypto
import Testing

@Suite struct DigestTests {
  // Source: FIPS 180-4 examples; RFC 6234 section 8.5.
  @Test(arguments: [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
    ("hello", "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"),
  ])
  func sha256HasItsPublishedAnswers(_ text: String, _ digest: String) {
    #expect(SHA256.digest(of: Array(text.utf8)).hexadecimal == digest)
    #expect(SHA256.digest(of: Array(text.utf8).span.bytes).hexadecimal == digest)
  }

  // Source: RFC 1321 appendix A.5.
  @Test(arguments: [
    ("", "d41d8cd98f00b204e9800998ecf8427e"),
    ("abc", "900150983cd24fb0d6963f7d28e17f72"),
    ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
  ])
  func md5HasItsPublishedAnswers(_ text: String, _ digest: String) throws {
    #expect(try #require(MD5.digest(of: Array(text.utf8))).hexadecimal == digest)
  }

  // Source: RFC 4231 sections 4.2, 4.3 and 4.7 (a key longer than the block).
  @Test func hmacHasItsPublishedAnswers() {
    #expect(
      HMACSHA256.code(of: Array("Hi There".utf8), key: [UInt8](repeating: 0x0B, count: 20))
        .hexadecimal == "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
    )
    #expect(
      HMACSHA256.code(of: Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8))
        .hexadecimal == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    )
    #expect(
      HMACSHA256.code(
        of: Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
        key: [UInt8](repeating: 0xAA, count: 131)
      ).hexadecimal == "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
    )
  }

  @Test func hmacTakesAnEmptyKeyAndAnEmptyText() {
    #expect(
      HMACSHA256.code(of: [], key: []).hexadecimal
        == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"
    )
  }

  @Test func piecesGiveTheDigestOfTheWhole() {
    let bytes = (0..<1000).map { UInt8(truncatingIfNeeded: $0) }
    var sha256 = SHA256()
    guard var md5 = MD5() else {
      Issue.record("this OpenSSL has no MD5")
      return
    }
    var hmac = HMACSHA256(key: [1, 2, 3])
    for start in stride(from: 0, to: bytes.count, by: 77) {
      let piece = bytes.span.bytes.extracting(start..<min(start + 77, bytes.count))
      sha256.update(piece)
      md5.update(piece)
      hmac.update(piece)
    }
    // Each ends on its own line: a finished digest is gone.
    let sha256Digest = sha256.finish()
    let md5Digest = md5.finish()
    let code = hmac.finish()
    #expect(sha256Digest == SHA256.digest(of: bytes))
    #expect(md5Digest == MD5.digest(of: bytes))
    #expect(code == HMACSHA256.code(of: bytes, key: [1, 2, 3]))
  }

  @Test func manyThreadsMayDigestAtOnce() async {
    let expected = SHA256.digest(of: Array("abc".utf8))
    let results = await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<64 {
        group.addTask {
          SHA256.digest(of: Array("abc".utf8)) == expected
            && HMACSHA256.code(of: [1], key: [2]) == HMACSHA256.code(of: [1], key: [2])
        }
      }
      return await group.reduce(into: [Bool]()) { $0.append($1) }
    }
    #expect(results.allSatisfy { $0 })
  }
}
