internal import Core
internal import Daemon
internal import Support

/// `dipper map`.
struct MapCommand {
  private let invocation: Invocation

  // Where there is no terminal to fill.
  private static let widthDefault = 64
  private static let patience = Duration.seconds(8)

  init(_ invocation: Invocation) {
    self.invocation = invocation
  }

  func run() throws(Failure) {
    let given = invocation.operands[0].bytes
    let found: PathFinder.Found
    do throws(PathFinder.Miss) {
      found = try PathFinder().find(given)
    } catch {
      throw failure(given, error.reason)
    }
    switch found.facts.kind {
    case .file: break
    case .directory: throw failure(given, "it is a directory; give a file")
    case .other: throw failure(given, "it is not a file")
    }
    let place = found.place
    let outcome = ControlClient().follow(
      ControlRequest(.map, path: place.relative),
      at: place.mountpoint,
      patience: Self.patience
    ) { _ in }
    guard case .answered(let answer) = outcome else {
      throw failure(
        given,
        PathFinder.silence(outcome, at: place.mountpoint) ?? "there is no answer"
      )
    }
    guard var report = answer.map else {
      throw failure(given, answer.error ?? "the daemon gave no answer that makes sense")
    }
    report.path = given.printable
    Console.write(
      invocation.has(.json)
        ? StatusReport.text(of: report, isPretty: true) + "\n"
        : CacheDrawing.text(report, width: Console.outputWidth ?? Self.widthDefault)
    )
  }

  private func failure(_ path: [UInt8], _ reason: String) -> Failure {
    Failure("\(path.printable) can't be mapped: \(reason)")
  }
}
