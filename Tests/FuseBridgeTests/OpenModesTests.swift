import Core
import Testing

@testable import FuseBridge

@Suite struct OpenModesTests {
  private let node = NodeID(7)
  private let first = OpenModes.Backing(number: 1)
  private let second = OpenModes.Backing(number: 2)

  @Test func theFirstOpenDecides() {
    var modes = OpenModes()
    #expect(modes.hasUse(forBackingOf: node))
    #expect(modes.opened(node, offer: first) == .init(way: .backed(first)))
    #expect(modes.closed(node) == first)
    #expect(modes.opened(node, offer: nil) == .init(way: .requests))
    #expect(modes.closed(node) == nil)
  }

  @Test func besideAnOpenThatAsksNoneIsBacked() {
    var modes = OpenModes()
    _ = modes.opened(node, offer: nil)
    #expect(!modes.hasUse(forBackingOf: node))
    #expect(modes.opened(node, offer: first) == .init(way: .requests, surplus: first))
    #expect(modes.closed(node) == nil)
    #expect(!modes.hasUse(forBackingOf: node))
    #expect(modes.closed(node) == nil)
    #expect(modes.hasUse(forBackingOf: node))
    #expect(modes.backingCount == 0)
  }

  @Test func besideABackedOpenAllHaveItsBacking() {
    var modes = OpenModes()
    _ = modes.opened(node, offer: first)
    #expect(modes.opened(node, offer: second) == .init(way: .backed(first), surplus: second))
    // Also when there is no whole file any more.
    #expect(modes.opened(node, offer: nil) == .init(way: .backed(first)))
    #expect(modes.closed(node) == nil)
    #expect(modes.closed(node) == nil)
    #expect(modes.closed(node) == first)
    #expect(modes.closed(node) == nil, "once is enough")
  }

  @Test func nodesAreIndependent() {
    var modes = OpenModes()
    _ = modes.opened(node, offer: nil)
    #expect(modes.opened(NodeID(8), offer: second) == .init(way: .backed(second)))
    #expect(modes.closed(node) == nil)
    #expect(modes.closed(NodeID(8)) == second)
  }

  @Test func backingsAreBounded() {
    var modes = OpenModes(backingCountMax: 1)
    _ = modes.opened(node, offer: first)
    #expect(!modes.hasUse(forBackingOf: NodeID(8)))
    _ = modes.closed(node)
    #expect(modes.hasUse(forBackingOf: NodeID(8)))
  }
}
