import Core
import Simulation
import Testing

@Suite struct KeyRulerTests {
  private func ruler(_ keys: [String]) -> KeyRuler? {
    KeyRuler(keys.map { Array($0.utf8) }, prefixCount: 2)
  }

  private func step(_ keys: [String], from key: String, by count: Int) -> String? {
    guard let ruler = ruler(keys), let position = ruler.position(of: Array(key.utf8)) else {
      return nil
    }
    return ruler.key(at: position + count).map { String(decoding: $0, as: UTF8.self) }
  }

  @Test func aCounterIsCounted() {
    let keys = ["d/f000000.jpg", "d/f000499.jpg", "d/f000999.jpg"]
    #expect(step(keys, from: "d/f000999.jpg", by: 1) == "d/f001000.jpg")
    #expect(step(keys, from: "d/f000999.jpg", by: 9_000) == "d/f009999.jpg")
    #expect(step(keys, from: "d/f000999.jpg", by: 999_001) == nil, "there are no such")
  }

  @Test func hexadecimalDigitsAreKnownByTheOthers() {
    let keys = ["d/00a1", "d/0123", "d/0456", "d/07bf", "d/09dc"]
    #expect(step(keys, from: "d/09dc", by: 0x624) == "d/1000")
    #expect(step(keys, from: "d/09dc", by: 0x1001) == "d/19dd")
  }

  @Test func keysThatEndComeFirst() {
    let keys = ["d/1", "d/10", "d/100", "d/101", "d/11", "d/12"]
    #expect(step(keys, from: "d/12", by: 1) == "d/120")
    #expect(step(keys, from: "d/129", by: 1) == "d/13")
  }

  @Test func whatTellsNothingIsNoRuler() {
    #expect(ruler([]) == nil)
    #expect(ruler(["d/a"]) == nil)
    #expect(ruler(["d/\u{e9}", "d/\u{fc}"]) == nil, "no key begins inside of a character")
    #expect(step(["d/fx01", "d/fx09"], from: "d/gx01", by: 1) == nil, "it doesn't reach there")
  }

  @Test func numbersGrowAsKeysDo() {
    let letters = Array("019afz-.~AZ".utf8)
    for seed in 0..<200 {
      var random = Seeded(UInt64(seed))
      func key() -> [UInt8] {
        let count = Int.random(in: 1...12, using: &random)
        return Array("d/".utf8)
          + (0..<count).map { _ in letters.randomElement(using: &random) ?? 0 }
      }
      let keys = (0..<20).map { _ in key() }.sorted { $0.lexicographicallyPrecedes($1) }
      guard let ruler = KeyRuler(keys, prefixCount: 2) else { continue }
      let positions = keys.compactMap { ruler.position(of: $0) }
      #expect(positions == positions.sorted(), "seed \(seed)")
      for position in positions {
        if let key = ruler.key(at: position) { #expect(ruler.position(of: key) == position) }
      }
    }
  }
}
