import Core
import Simulation
import Testing

@Suite struct NameCodecTests {
  private func name(_ component: String, shadowed: Bool = false) -> String? {
    name(Array(component.utf8), shadowed: shadowed)
  }

  private func name(_ component: [UInt8], shadowed: Bool = false) -> String? {
    NameCodec.name(of: .init(component: component, isShadowedObject: shadowed))
      .map { String(decoding: $0.bytes, as: UTF8.self) }
  }

  private func child(_ name: String) -> NameCodec.Child? { NameCodec.child(named: FileName(name)) }

  @Test(arguments: [
    "a", "report 2026.csv", "...", ".hidden", "100%", "%41", "%dipper", "~", "name\\with",
    "\u{FC}ber",
    "\u{4E2D}\u{6587}", "\u{1F600}", "-rf", "*", "a%dipper%",
  ])
  func ordinaryComponentsLookLikeThemselves(component: String) {
    #expect(name(component) == component)
    #expect(child(component) == .init(component: component.utf8))
  }

  @Test func oddComponentsHaveTheSpellingOfTheTable() {
    #expect(name("") == "%dipper%")
    #expect(name(".") == "%dipper%.")
    #expect(name("..") == "%dipper%..")
    #expect(name("a\nb") == "%dipper%a%0Ab")
    #expect(name([0]) == "%dipper%%00")
    #expect(name("a\u{7F}\u{9B}1m") == "%dipper%a%7F%C2%9B1m")
    #expect(name([0x66, 0xFF, 0x67]) == "%dipper%f%FFg")
    #expect(name([0xC0, 0xAF]) == "%dipper%%C0%AF")
    #expect(name([0xED, 0xA0, 0x80]) == "%dipper%%ED%A0%80")
    #expect(name("%dipper%x") == "%dipper%%25dipper%25x")
    #expect(name("%dipper-object%x") == "%dipper%%25dipper-object%25x")
    #expect(name("%dipper-long%x") == "%dipper%%25dipper-long%25x")
    #expect(name("a", shadowed: true) == "%dipper-object%a")
    #expect(name("", shadowed: true) == "%dipper-object%")
    #expect(name("..", shadowed: true) == "%dipper-object%..")
  }

  @Test(arguments: [
    "", ".", "..", "%dipper%a", "%dipper%a%0ab", "%dipper%a%0", "%dipper%%2F", "%dipper%%61%0A",
    "%dipper-object%%61", "%dipper-object%%2F", "a\nb", "%dipper%\n", "%dipper-long%",
    "%dipper-long%abc",
  ])
  func aNameThatNoKeyHasMeansNothing(name: String) {
    #expect(child(name) == nil)
  }

  @Test func aSpellingLongerThanANameIsNoName() {
    #expect(name(String(repeating: "a", count: 255)) != nil)
    #expect(name(String(repeating: "a", count: 256)) == nil)
    #expect(name(String(repeating: "\n", count: 82)) != nil)
    #expect(name(String(repeating: "\n", count: 83)) == nil)
  }

  @Test(arguments: 0..<200 as Range<UInt64>)
  func everyComponentIsReadBackAndNoTwoCollide(seed: UInt64) {
    var generator = Seeded(seed)
    var children: [FileName: NameCodec.Child] = [:]
    for _ in 0..<50 {
      let child = NameCodec.Child(
        component: component(&generator),
        isShadowedObject: Int.random(in: 0..<4, using: &generator) == 0
      )
      guard let name = NameCodec.name(of: child) else {
        #expect(child.component.count > 70, "seed \(seed): only long ones have no name here")
        continue
      }
      #expect(NameCodec.child(named: name) == child, "seed \(seed)")
      #expect(!name.bytes.contains(0) && !name.bytes.contains(UInt8(ascii: "/")), "seed \(seed)")
      #expect(name != FileName(".") && name != FileName("..") && !name.bytes.isEmpty)
      #expect(children[name] == nil || children[name] == child, "seed \(seed)")
      children[name] = child
    }
  }

  @Test(arguments: 0..<200 as Range<UInt64>)
  func everyNameMeansOneChildWhoseNameItIs(seed: UInt64) {
    var generator = Seeded(seed)
    for _ in 0..<50 {
      let prefix = [[], NameCodec.escapePrefix, NameCodec.objectPrefix].randomElement(
        using: &generator
      )
      let name = FileName((prefix ?? []) + component(&generator))
      guard let child = NameCodec.child(named: name) else { continue }
      #expect(NameCodec.name(of: child) == name, "seed \(seed)")
    }
  }

  /// Bytes with a liking for what is special here.
  private func component(_ generator: inout Seeded) -> [UInt8] {
    let pieces: [[UInt8]] = [
      [0x2E], [0x25], Array("%dipper%".utf8), Array("%dipper-object%".utf8), Array("%2".utf8),
      [0x0A],
      [0xFF], [0xC3, 0xA9], [0xE2, 0x82], Array("abc".utf8), [0], [0xF0, 0x9F, 0x98, 0x80],
    ]
    var bytes: [UInt8] = []
    for _ in 0..<Int.random(in: 0..<6, using: &generator) {
      if Bool.random(using: &generator) {
        bytes += pieces.randomElement(using: &generator) ?? []
      } else {
        bytes.append(UInt8.random(in: 0...255, using: &generator))
      }
    }
    if Int.random(in: 0..<20, using: &generator) == 0 {
      bytes += [UInt8](repeating: 0x61, count: Int.random(in: 0..<300, using: &generator))
    }
    return bytes.filter { $0 != 0x2F }
  }
}
