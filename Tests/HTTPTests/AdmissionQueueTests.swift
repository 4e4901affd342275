import Simulation
import Testing

@testable import HTTP

@Suite struct AdmissionQueueTests {
  let a: Origin
  let b: Origin

  init() throws {
    a = try #require(Origin(url: "http://a/"))
    b = try #require(Origin(url: "http://b/"))
  }

  private func drain(_ queue: inout AdmissionQueue<Int>) -> [Int] {
    var ids: [Int] = []
    while let id = queue.next() { ids.append(id) }
    return ids
  }

  @Test func firstComeFirstServedButTheUrgentBefore() {
    var queue = AdmissionQueue<Int>(countMax: 10, hostCountMax: 10)
    for id in 0..<6 { queue.arrived(id, origin: id < 3 ? a : b, isUrgent: id.isMultiple(of: 2)) }
    #expect(drain(&queue) == [0, 2, 4, 1, 3, 5])
    #expect(queue.waitingCount == 0)
  }

  @Test func noMoreRunThanTheLimit() {
    var queue = AdmissionQueue<Int>(countMax: 2, hostCountMax: 10)
    for id in 0..<4 { queue.arrived(id, origin: a, isUrgent: true) }
    #expect(drain(&queue) == [0, 1])
    queue.ended(origin: a)
    #expect(drain(&queue) == [2])
    queue.ended(origin: a)
    queue.ended(origin: a)
    #expect(drain(&queue) == [3])
  }

  @Test func aFullOriginDoesNotHoldUpAnother() {
    var queue = AdmissionQueue<Int>(countMax: 10, hostCountMax: 2)
    for id in 0..<6 { queue.arrived(id, origin: id < 4 ? a : b, isUrgent: true) }
    #expect(drain(&queue) == [0, 1, 4, 5])
    queue.ended(origin: b)
    #expect(drain(&queue) == [])
    queue.ended(origin: a)
    #expect(drain(&queue) == [2])
  }

  @Test func whoLeftIsNotServed() {
    var queue = AdmissionQueue<Int>(countMax: 1, hostCountMax: 1)
    for id in 0..<4 { queue.arrived(id, origin: a, isUrgent: true) }
    queue.left(0)
    queue.left(2)
    queue.left(17)
    #expect(drain(&queue) == [1])
    queue.left(3)
    queue.ended(origin: a)
    #expect(drain(&queue) == [])
    #expect(queue.waitingCount == 0)
  }

  /// Everything that arrives and does not leave is served once, and the limits hold throughout.
  @Test(arguments: 0..<20) func everyoneIsServedOnce(_ seed: UInt64) {
    var random = Seeded(seed)
    var queue = AdmissionQueue<Int>(countMax: 5, hostCountMax: 3)
    var waiting: [Int: Origin] = [:]
    var running: [Int: Origin] = [:]
    for id in 0..<2000 {
      let origin = Bool.random(using: &random) ? a : b
      queue.arrived(id, origin: origin, isUrgent: Bool.random(using: &random))
      waiting[id] = origin
      if Int.random(in: 0..<3, using: &random) == 0, let leaver = waiting.keys.min() {
        queue.left(leaver)
        waiting[leaver] = nil
      }
      while let next = queue.next() { running[next] = waiting.removeValue(forKey: next) }
      #expect(running.count <= 5 && queue.waitingCount == waiting.count, "seed \(seed)")
      #expect([a, b].allSatisfy { origin in running.values.count { $0 == origin } <= 3 })
      if let ending = running.keys.randomElement(using: &random),
        let origin = running.removeValue(forKey: ending)
      {
        queue.ended(origin: origin)
      }
    }
    while let ending = running.popFirst() {
      queue.ended(origin: ending.value)
      while let next = queue.next() { running[next] = waiting.removeValue(forKey: next) }
    }
    #expect(waiting.isEmpty, "seed \(seed)")
  }
}
