/// Decides which request gets the next connection.
///
/// Each running request has a connection of its own (HTTP/1.1), so the limits on connections are
/// limits on requests. They are kept here and not by libcurl, whose own waiting list knows neither
/// deadlines nor urgency. Within an origin the order is first come, first served, the urgent ones
/// before the others; a full origin does not hold up another. An ID is never used again.
struct AdmissionQueue<ID: Hashable> {
  private struct Waiter {
    let origin: Origin
    let order: Order
  }

  /// What came first goes first, behind everything urgent.
  private struct Order: Comparable {
    let isUrgent: Bool
    let number: Int

    static func < (left: Order, right: Order) -> Bool {
      left.isUrgent == right.isUrgent ? left.number < right.number : left.isUrgent
    }
  }

  private struct Lane {
    var urgent = FIFO<ID>()
    var ordinary = FIFO<ID>()
    var runningCount = 0
  }

  private let countMax: Int
  private let hostCountMax: Int
  private var waiters: [ID: Waiter] = [:]
  private var lanes: [Origin: Lane] = [:]
  private var runningCount = 0
  private var nextNumber = 0

  /// Creates an empty queue with limits in all and for each origin, 1 at least.
  init(countMax: Int, hostCountMax: Int) {
    self.countMax = max(1, countMax)
    self.hostCountMax = max(1, hostCountMax)
  }

  /// How many wait.
  var waitingCount: Int { waiters.count }

  /// A request came that wants a connection.
  mutating func arrived(_ id: ID, origin: Origin, isUrgent: Bool) {
    waiters[id] = Waiter(origin: origin, order: Order(isUrgent: isUrgent, number: nextNumber))
    nextNumber += 1
    if isUrgent {
      lanes[origin, default: Lane()].urgent.append(id)
    } else {
      lanes[origin, default: Lane()].ordinary.append(id)
    }
  }

  /// A waiting request gave up.
  mutating func left(_ id: ID) {
    // Its place in the lane is skipped when it comes up.
    guard let waiter = waiters.removeValue(forKey: id) else { return }
    forgetIfEmpty(waiter.origin)
  }

  /// A running request ended: its connection is free.
  mutating func ended(origin: Origin) {
    runningCount -= 1
    lanes[origin]?.runningCount -= 1
    forgetIfEmpty(origin)
  }

  /// Takes the request that may start now; nil if none may.
  mutating func next() -> ID? {
    guard runningCount < countMax else { return nil }
    var best: (id: ID, waiter: Waiter)?
    for origin in lanes.keys {
      guard let id = first(of: origin), let waiter = waiters[id] else { continue }
      if let best, best.waiter.order < waiter.order { continue }
      best = (id, waiter)
    }
    guard let best else { return nil }
    waiters[best.id] = nil
    runningCount += 1
    lanes[best.waiter.origin]?.runningCount += 1
    return best.id
  }

  /// The first of an origin that has a connection to give.
  private mutating func first(of origin: Origin) -> ID? {
    guard var lane = lanes.removeValue(forKey: origin) else { return nil }
    defer { lanes[origin] = lane }
    guard lane.runningCount < hostCountMax else { return nil }
    let waiters = waiters
    return lane.urgent.first { waiters[$0] != nil } ?? lane.ordinary.first { waiters[$0] != nil }
  }

  private mutating func forgetIfEmpty(_ origin: Origin) {
    guard let lane = lanes[origin], lane.runningCount == 0 else { return }
    if first(of: origin) == nil { lanes[origin] = nil }
  }
}

/// First in, first out; taking from the front is cheap.
struct FIFO<Element> {
  private var elements: [Element] = []
  private var head = 0

  /// Adds an element behind the others.
  mutating func append(_ element: Element) {
    elements.append(element)
  }

  /// The first element that `isWanted`; those before it are dropped.
  mutating func first(where isWanted: (Element) -> Bool) -> Element? {
    while head < elements.count, !isWanted(elements[head]) { head += 1 }
    // Moved together when half of it is gone, so that each element is moved once on average.
    if head > 32, head * 2 > elements.count {
      elements.removeFirst(head)
      head = 0
    }
    return head < elements.count ? elements[head] : nil
  }
}
