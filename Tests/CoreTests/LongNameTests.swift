import Core
import Simulation
import Testing

@Suite struct LongNameTests {
  /// Two sums of the bytes: no cryptographic hash, but enough to tell a test's components apart.
  private static let digest = NameDigest { bytes in
    [UInt64(0xCBF2_9CE4_8422_2325), 0x9E37_79B9_7F4A_7C15].flatMap { seed -> [UInt8] in
      var hash = seed
      for byte in bytes {
        hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
        hash ^= hash >> 29
      }
      return (0..<8).map { UInt8(truncatingIfNeeded: hash >> (8 * $0)) }
    }
  }

  private static let digits = "0123456789abcdef0123456789abcdef"

  private func name(_ component: [UInt8], shadowed: Bool = false) -> FileName {
    NameCodec.name(of: .init(component: component, isShadowedObject: shadowed), Self.digest)
  }

  private func long(_ name: FileName) -> NameCodec.LongName? {
    guard case .long(let long) = NameCodec.meaning(of: name) else { return nil }
    return long
  }

  @Test func aLongComponentHasItsBeginningAndItsDigestInItsName() {
    let fixed = NameDigest { _ in (0..<32).map { 0xE8 &+ UInt8($0) } }
    let digits = "e8e9eaebecedeeeff0f1f2f3f4f5f6f7"
    let component = [UInt8](repeating: 0x61, count: 500)
    let plain = NameCodec.name(of: .init(component: component), fixed)
    #expect(
      plain == FileName("%dipper-long%" + String(repeating: "a", count: 208) + "%-" + digits)
    )
    let shadowed = NameCodec.name(of: .init(component: component, isShadowedObject: true), fixed)
    #expect(
      shadowed == FileName("%dipper-object%" + String(repeating: "a", count: 206) + "%-" + digits)
    )
    #expect(plain.bytes.count == 255 && shadowed.bytes.count == 255)
  }

  @Test func noCutGoesThroughACharacterOrAnEscape() {
    func headLength(_ component: [UInt8]) -> Int { name(component).bytes.count - 13 - 2 - 32 }
    let euros = Array(String(repeating: "\u{20AC}", count: 100).utf8)
    #expect(headLength(euros) == 207)
    #expect(headLength([0x61] + euros) == 208)
    #expect(headLength([0x61, 0x61] + euros) == 206)
    #expect(headLength(Array(String(repeating: "\u{E9}", count: 128).utf8)) == 208)
    #expect(headLength([UInt8](repeating: 0xFF, count: 300)) == 207)
    #expect(headLength([UInt8](repeating: 0x25, count: 300)) == 207)
    #expect(long(name(euros))?.head == Array(euros.prefix(207)))
    #expect(long(name([UInt8](repeating: 0xFF, count: 300)))?.head.count == 69)
  }

  @Test func theNumbersOfTheDocumentAreRight() {
    func isLong(_ count: Int, _ byte: UInt8 = 0x61, shadowed: Bool = false) -> Bool {
      let component = [UInt8](repeating: byte, count: count)
      let isLong = long(name(component, shadowed: shadowed)) != nil
      if isLong { #expect(NameCodec.mayBeLong(component[...]), "\(count)") }
      return isLong
    }
    #expect(!isLong(255))
    #expect(isLong(256))
    #expect(!isLong(240, shadowed: true))
    #expect(isLong(241, shadowed: true))
    #expect(!isLong(82, 0x0A))
    #expect(isLong(83, 0x0A))
    #expect(!isLong(80, 0x0A, shadowed: true))
    #expect(isLong(81, 0x0A, shadowed: true))
  }

  @Test(arguments: [
    ("%dipper-long%", 208, "%-", true), ("%dipper-long%", 205, "%-", true),
    ("%dipper-long%", 204, "%-", false), ("%dipper-long%", 209, "%-", false),
    ("%dipper-long%", 208, "--", false), ("%dipper-object%", 206, "%-", true),
    ("%dipper-object%", 203, "%-", true), ("%dipper-object%", 202, "%-", false),
    ("%dipper%", 208, "%-", false), ("", 200, "%-", false),
  ])
  func onlyWhatDipperWritesIsALongName(
    prefix: String,
    headLength: Int,
    separator: String,
    isName: Bool
  ) {
    let head = String(repeating: "b", count: headLength)
    #expect((long(FileName(prefix + head + separator + Self.digits)) != nil) == isName)
  }

  @Test func aDigestIsSpelledInOneWay() {
    let head = "%dipper-long%" + String(repeating: "b", count: 208) + "%-"
    #expect(long(FileName(head + Self.digits)) != nil)
    #expect(NameCodec.meaning(of: FileName(head + Self.digits.uppercased())) == nil)
    #expect(NameCodec.meaning(of: FileName(head + Self.digits.dropLast() + "g")) == nil)
    #expect(NameCodec.meaning(of: FileName(head + Self.digits.dropLast())) == nil)
    let odd = "%dipper-long%" + String(repeating: "b", count: 205) + "%61%-"
    #expect(NameCodec.meaning(of: FileName(odd + Self.digits)) == nil, "no spelling has %61")
  }

  @Test func aLongNameIsThatOfOneComponentAlone() throws {
    let component = [UInt8](repeating: 0x61, count: 300)
    let plain = try #require(long(name(component)))
    let shadowed = try #require(long(name(component, shadowed: true)))
    #expect(plain.isName(of: component[...], Self.digest))
    #expect(shadowed.isName(of: component[...], Self.digest))
    #expect(!plain.isName(of: component.dropLast(), Self.digest))
    #expect(!plain.isName(of: (component + [0x61])[...], Self.digest))
    // The right digest, but this one is a name of its own.
    let short = [UInt8](repeating: 0x61, count: 250)
    let digits = String(decoding: Self.digest.digits(of: short), as: UTF8.self)
    let head = String(repeating: "a", count: 208)
    let forged = try #require(long(FileName("%dipper-long%" + head + "%-" + digits)))
    #expect(!forged.isName(of: short[...], Self.digest))
    // The right digest, but cut elsewhere.
    let ofLong = String(decoding: Self.digest.digits(of: component), as: UTF8.self)
    let cut = try #require(long(FileName("%dipper-long%" + head.dropLast() + "%-" + ofLong)))
    #expect(!cut.isName(of: component[...], Self.digest))
  }

  @Test(arguments: 0..<200 as Range<UInt64>)
  func everyComponentIsRecognisedByItsName(seed: UInt64) {
    var generator = Seeded(seed)
    let pieces: [[UInt8]] = [
      [0x61], [0x25], [0x0A], [0xFF], [0xC3, 0xA9], [0xE2, 0x82], [0xE2, 0x82, 0xAC],
      [0xF0, 0x9F, 0x98, 0x80], Array("%dipper-long%".utf8), [0x2E], Array("%-".utf8),
    ]
    // With one beginning, so that only the digest tells them apart.
    var base: [UInt8] = []
    while base.count < 1024 {
      let piece = pieces.randomElement(using: &generator) ?? []
      for _ in 0..<Int.random(in: 1...60, using: &generator) { base += piece }
    }
    var children: Set<NameCodec.Child> = []
    for _ in 0..<20 {
      let length = Int.random(in: 0...1000, using: &generator)
      let tail = pieces.randomElement(using: &generator) ?? []
      let isShadowed = Bool.random(using: &generator)
      children.insert(.init(component: base.prefix(length) + tail, isShadowedObject: isShadowed))
    }
    var names: Set<FileName> = []
    for child in children {
      let name = NameCodec.name(of: child, Self.digest)
      #expect(names.insert(name).inserted, "seed \(seed): two have one name")
      #expect(1...255 ~= name.bytes.count, "seed \(seed)")
      #expect(!name.bytes.contains(0) && !name.bytes.contains(0x2F), "seed \(seed)")
      switch NameCodec.meaning(of: name) {
      case .child(let meant): #expect(meant == child, "seed \(seed)")
      case .long(let long):
        #expect(NameCodec.mayBeLong(child.component[...]), "seed \(seed)")
        let meant = children.filter {
          $0.isShadowedObject == long.isShadowedObject
            && long.isName(of: $0.component[...], Self.digest)
        }
        #expect(meant == [child], "seed \(seed)")
      case nil: Issue.record("seed \(seed): a name that means nothing")
      }
    }
  }
}
