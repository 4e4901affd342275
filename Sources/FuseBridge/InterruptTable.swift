internal import Core

/// What to run when the caller of a waiting request gives up.
///
/// An interrupt is known by a number that is never used twice, so one that comes after its
/// request's answer finds nothing. libfuse may report an interrupt while the registration is still
/// in its hands, with the request locked; answering the request there would free it under libfuse.
/// Such an interrupt is remembered, and handed out when the registration has returned.
struct InterruptTable {
  typealias Action = @Sendable () -> Void

  private struct Entry {
    let request: RequestToken
    let action: Action
    var isRegistering = true
    var isInterrupted = false
  }

  private var entries: [UInt: Entry] = [:]
  private var numbers: [RequestToken: UInt] = [:]
  private var lastNumber: UInt = 0

  /// The number of requests that wait.
  var count: Int { entries.count }

  /// A registration begins; returns its number, which is never 0.
  mutating func registrationBegan(of request: RequestToken, _ action: @escaping Action) -> UInt {
    lastNumber += 1
    entries[lastNumber] = Entry(request: request, action: action)
    numbers[request] = lastNumber
    return lastNumber
  }

  /// The registration has returned; returns the action if the interrupt came meanwhile.
  mutating func registrationEnded(_ number: UInt) -> Action? {
    guard let entry = entries[number] else { return nil }
    guard entry.isInterrupted else {
      entries[number]?.isRegistering = false
      return nil
    }
    remove(number, of: entry.request)
    return entry.action
  }

  /// An interrupt came; returns the action that must run now.
  mutating func interrupted(_ number: UInt) -> Action? {
    guard let entry = entries[number] else { return nil }
    guard !entry.isRegistering else {
      entries[number]?.isInterrupted = true
      return nil
    }
    remove(number, of: entry.request)
    return entry.action
  }

  /// The request is about to be answered; nothing is left to interrupt.
  mutating func answered(_ request: RequestToken) {
    guard let number = numbers[request] else { return }
    remove(number, of: request)
  }

  private mutating func remove(_ number: UInt, of request: RequestToken) {
    entries[number] = nil
    numbers[request] = nil
  }
}
