internal import Core
internal import Daemon
internal import Glibc
internal import Support

/// `dipper warm` and `dipper evict`: what a mount's cache is to have, and not to have, of files and
/// trees.
final class CacheCommand: Sendable {
  /// A file to be done.
  private struct Job: Sendable {
    let mountpoint: String
    let relative: [UInt8]
    let file: TreeWalk.File
    let number: Int
  }

  private let isWarming: Bool
  private let operands: [Invocation.Operand]
  private let tally = Lock(CacheTally())
  private let display: CacheDisplay
  private let client = ControlClient()
  private let finder = PathFinder()
  /// Why nothing more is started.
  private let halt = Lock<String?>(nil)

  // Each asks for up to four requests of 8 MiB at a time; small files are bound by the round trip.
  private static let threadCount = 4
  // The daemon says every second how far it is.
  private static let patience = Duration.seconds(8)
  private static let drawingPause = Duration.milliseconds(200)
  // How often the daemons are asked whether they are there while nothing moves.
  private static let quietPauseCountMax = 10

  init(_ invocation: Invocation) {
    isWarming = invocation.command == .warm
    operands = invocation.operands
    display = CacheDisplay(invocation)
  }

  func run() throws(Failure) {
    // Before there is a second thread: all of them leave these signals to the watch.
    do throws(DiskFailure) {
      try SignalWatch.start([.interrupt, .terminate]) { [self] signal in stop(signal) }
    } catch {
      throw Failure("\(error)")
    }
    ProcessLimits.raiseOpenFiles()
    let start = SystemClock().now
    var places: [MountedPath] = []
    for operand in operands {
      do throws(PathFinder.Miss) {
        places.append(try finder.find(operand.bytes).place)
      } catch {
        fail(operand.bytes, error.reason)
      }
    }
    if !places.isEmpty {
      do throws(DiskFailure) {
        try work(on: places)
      } catch {
        throw Failure("\(error)")
      }
    }
    display.end()
    let summary = tally.withLock { $0 }
    if summary.foundCount > 0 || summary.failureCount == 0 {
      let seconds = Int((SystemClock().now - start).components.seconds)
      Console.write(
        (isWarming ? summary.warmingSummary(seconds: seconds) : summary.evictionSummary) + "\n"
      )
    }
    if isWarming { tellOverflow(summary, places) }
    if let reason = halt.withLock({ $0 }) { throw Failure(reason) }
    if summary.failureCount > 0 { throw Failure(nil) }
  }

  /// Ctrl-C: the daemon notices that nobody waits, and ends what it does for us.
  private func stop(_ signal: SignalWatch.Signal) {
    display.end()
    Console.complain(isWarming ? "stopped; what has arrived stays in the cache" : "stopped")
    Thread.exitProcess(128 + signal.number)
  }

  private func work(on places: [MountedPath]) throws(DiskFailure) {
    let crew = try FileCrew<Job>(threadCount: Self.threadCount) { [self] job in carryOut(job) }
    // Before it is waited for; what the crew began to wait for ends with the process.
    try Thread.require("dipper-walk") { [self] in
      for place in places {
        let walk = TreeWalk(
          onFile: { [self] file in
            let number = tally.withLock { $0.found(byteCount: file.size) }
            return crew.offer(
              Job(
                mountpoint: place.mountpoint,
                relative: place.relative(file.path),
                file: file,
                number: number
              )
            )
          },
          onFailure: { [self] path, reason in fail(path, reason) }
        )
        guard walk.walk(place.path) else { break }
      }
      crew.finish()
    }
    watch(crew, Set(places.map(\.mountpoint)))
  }

  /// Shows how it goes until all is done, and makes sure that somebody is working on it.
  private func watch(_ crew: FileCrew<Job>, _ mountpoints: Set<String>) {
    var last = tally.withLock { $0 }
    var quietPauseCount = 0
    while !crew.waitUntilDone(for: Self.drawingPause) {
      let now = tally.withLock { $0 }
      display.draw(now)
      quietPauseCount = now == last ? quietPauseCount + 1 : 0
      last = now
      if quietPauseCount >= Self.quietPauseCountMax {
        quietPauseCount = 0
        do throws(PathFinder.Miss) {
          for mountpoint in mountpoints { try finder.checkAnswers(mountpoint) }
        } catch {
          halt.withLock { $0 = $0 ?? error.reason }
        }
      }
      if halt.withLock({ $0 }) != nil {
        // What is under way may wait for the daemon that doesn't answer.
        crew.stop()
        return
      }
    }
    display.draw(tally.withLock { $0 })
  }

  private func carryOut(_ job: Job) {
    let outcome = client.follow(
      ControlRequest(isWarming ? .warm : .evict, path: job.relative),
      at: job.mountpoint,
      patience: Self.patience
    ) { [tally] answer in
      guard let progress = answer.progress else { return }
      tally.withLock { $0.progressed(job.number, to: progress.bytesDone) }
    }
    guard case .answered(let answer) = outcome else {
      halt.withLock { $0 = $0 ?? PathFinder.silence(outcome, at: job.mountpoint) }
      return
    }
    if let warmed = answer.warmed {
      tally.withLock {
        $0.warmed(job.number, byteCount: warmed.bytes, fetchedByteCount: warmed.fetchedBytes)
      }
    } else if let evicted = answer.evicted {
      tally.withLock { $0.evicted(freedByteCount: evicted.freedBytes) }
    } else {
      tally.withLock { $0.failed(job.number, byteCount: job.file.size) }
      complain(job.file.path, answer.error ?? "the daemon gave no answer that makes sense")
    }
  }

  private func fail(_ path: [UInt8], _ reason: String) {
    tally.withLock { $0.failed() }
    complain(path, reason)
  }

  private func complain(_ path: [UInt8], _ reason: String) {
    display.complain("\(path.printable) can't be \(isWarming ? "warmed" : "evicted"): \(reason)")
  }

  /// Says so if the first files have made room for the last ones.
  private func tellOverflow(_ summary: CacheTally, _ places: [MountedPath]) {
    guard Set(places.map(\.mountpoint)).count == 1, let mountpoint = places.first?.mountpoint,
      case .answered(let answer) = client.ask(ControlRequest(.status), at: mountpoint),
      let limit = answer.status?.cache?.limitBytes,
      let sentence = summary.overflow(limitByteCount: limit)
    else { return }
    Console.complain(sentence)
  }
}

/// The moving line of `warm` on a terminal, and one line at the end where `--progress` asks for it.
private final class CacheDisplay: Sendable {
  private struct State {
    var line = ProgressLine(name: "", total: 0)
    var isShown = false
  }

  private let width: Int?
  private let isTerminal: Bool
  private let state = Lock(State())

  init(_ invocation: Invocation) {
    let terminalWidth = Console.progressWidth
    isTerminal = terminalWidth != nil
    let isWanted = invocation.command == .warm && !invocation.has(.noProgress)
    width = isWanted ? terminalWidth ?? (invocation.has(.progress) ? 80 : nil) : nil
  }

  func draw(_ tally: CacheTally) {
    guard let width else { return }
    let now = SystemClock().now
    let text = state.withLock { state in
      state.line.name = "\(tally.endedCount) of \(tally.foundCount) files"
      state.line.total = tally.expectedByteCount
      state.line.note(tally.presentByteCount, at: now)
      state.isShown = true
      return state.line.text(width: width - 1)
    }
    if isTerminal { Console.show("\r\(text)\u{1B}[K") }
  }

  func complain(_ sentence: String) {
    if isTerminal, state.withLock({ $0.isShown }) { Console.show("\r\u{1B}[K") }
    Console.complain(sentence)
  }

  /// Leaves the line as it is and goes to the next, or shows it for the first time.
  func end() {
    guard let width else { return }
    let text = state.withLock { state in
      defer { state.isShown = false }
      return state.isShown ? state.line.text(width: width - 1) : nil
    }
    if let text { Console.show(isTerminal ? "\n" : text + "\n") }
  }
}
