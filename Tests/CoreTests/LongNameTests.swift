import Core
import Simulation
import Testing

@Suite struct LongNameTests {
  /// The names of a component, from the directory that it is in.
  private func names(_ component: [UInt8], shadowed: Bool = false) -> [FileName] {
    var names: [FileName] = []
    var head: ArraySlice<UInt8> = []
    var child = NameCodec.Child(component: component, isShadowedObject: shadowed)
    while case .below(let piece) = NameCodec.placement(of: child, behind: head) {
      if let name = NameCodec.name(of: piece, behind: head) { names.append(name) }
      let count = piece.component.count - 1
      head += child.component.prefix(count)
      child.component.removeFirst(count)
    }
    if let name = NameCodec.name(of: child, behind: head) { names.append(name) }
    return names
  }

  /// What names mean, one in the directory of the other; nil if one of them means nothing.
  private func child(_ names: [FileName]) -> NameCodec.Child? {
    var head: ArraySlice<UInt8> = []
    for name in names {
      guard var child = NameCodec.child(named: name, behind: head) else { return nil }
      guard let piece = child.piece else {
        child.component = Array(head) + child.component
        return child
      }
      head += piece
    }
    return nil
  }

  @Test func aLongComponentIsCutIntoNames() {
    let component = [UInt8](repeating: 0x61, count: 500)
    #expect(
      names(component) == [
        FileName("%dipper-long%" + String(repeating: "a", count: 240)),
        FileName("%dipper-long%" + String(repeating: "a", count: 240)),
        FileName("%dipper%" + String(repeating: "a", count: 20)),
      ]
    )
    #expect(
      names(component, shadowed: true).last == FileName("%dipper-object%aaaaaaaaaaaaaaaaaaaa")
    )
  }

  @Test func noCutGoesThroughACharacterOrAnEscape() {
    let euros = Array(String(repeating: "\u{20AC}", count: 100).utf8)
    #expect(names(euros).map(\.bytes.count) == [13 + 240, 8 + 60])
    let shifted = [0x61] + euros
    #expect(names(shifted).map(\.bytes.count) == [13 + 238, 8 + 63])
    let raw = [UInt8](repeating: 0xFF, count: 300)
    #expect(names(raw).map(\.bytes.count) == [13 + 240, 13 + 240, 13 + 240, 8 + 180])
    // 13 prefixes, and the name still fits into a path.
    let worst = names([UInt8](repeating: 1, count: 1024))
    #expect(worst.count == 13)
    #expect(worst.reduce(0) { $0 + $1.bytes.count + 1 } < 3300)
  }

  @Test func whatIsCutElsewhereIsNoName() {
    let letters = String(repeating: "a", count: 240)
    let head = Array(letters.utf8)[...]
    func means(_ name: String) -> Bool {
      NameCodec.child(named: FileName(name), behind: head) != nil
    }
    #expect(means("%dipper%" + String(repeating: "b", count: 16)))
    #expect(!means("%dipper%" + String(repeating: "b", count: 15)), "its plain name fits")
    #expect(means("%dipper-object%b"), "the plain name fits, this one doesn't")
    #expect(!means("%dipper-object%"))
    #expect(!means("%dipper%"))
    #expect(!means("plain"))
    #expect(!means("%dipper%" + String(repeating: "b", count: 241)), "another cut fits in")
    #expect(means("%dipper-long%" + String(repeating: "b", count: 240)))
    #expect(!means("%dipper-long%" + String(repeating: "b", count: 236)))
    #expect(!means("%dipper-long%" + String(repeating: "b", count: 238) + "%61"))
    // No cut comes here.
    let odd = Array(letters.utf8).dropLast(10)
    let name = FileName("%dipper%" + String(repeating: "b", count: 100))
    #expect(NameCodec.child(named: name, behind: odd) == nil)
  }

  @Test func theNumbersOfTheDocumentAreRight() {
    #expect(names([UInt8](repeating: 0x61, count: 255)).count == 1)
    #expect(names([UInt8](repeating: 0x61, count: 240), shadowed: true).count == 1)
    #expect(names([UInt8](repeating: 0x61, count: 241), shadowed: true).count == 2)
    #expect(names([UInt8](repeating: 0x61, count: 256)).count == 2)
  }

  @Test(arguments: 0..<200 as Range<UInt64>)
  func everyComponentIsReadBackFromItsNames(seed: UInt64) {
    var generator = Seeded(seed)
    let pieces: [[UInt8]] = [
      [0x61], [0x25], [0x0A], [0xFF], [0xC3, 0xA9], [0xE2, 0x82], [0xE2, 0x82, 0xAC],
      [0xF0, 0x9F, 0x98, 0x80], Array("%dipper-long%".utf8), [0x2E],
    ]
    var seen: [[FileName]: NameCodec.Child] = [:]
    for _ in 0..<20 {
      var component: [UInt8] = []
      let length = Int.random(in: 0...1024, using: &generator)
      while component.count < length {
        let piece = pieces.randomElement(using: &generator) ?? []
        for _ in 0..<Int.random(in: 1...60, using: &generator) { component += piece }
      }
      component = Array(component.prefix(length))
      let expected = NameCodec.Child(
        component: component,
        isShadowedObject: Bool.random(using: &generator)
      )
      let names = names(component, shadowed: expected.isShadowedObject)
      #expect(names.allSatisfy { 1...255 ~= $0.bytes.count }, "seed \(seed)")
      #expect(child(names) == expected, "seed \(seed)")
      #expect(seen[names] == nil || seen[names] == expected, "seed \(seed)")
      seen[names] = expected
    }
  }
}
