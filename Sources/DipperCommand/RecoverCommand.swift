internal import Core
internal import Daemon
internal import Dipper
internal import Support

/// `dipper recover`.
struct RecoverCommand {
  private let invocation: Invocation

  // The daemon says every second that it is still at it.
  private static let patience = Duration.seconds(8)

  init(_ invocation: Invocation) {
    self.invocation = invocation
  }

  func run() throws(Failure) {
    let operand = invocation.operands[0]
    let text = String(decoding: operand.bytes, as: UTF8.self)
    let isBucket = BucketURL.Scheme.allCases.contains { text.hasPrefix("\($0.rawValue)://") }
    let report = isBucket ? try recover(operand) : try askDaemon(operand)
    if invocation.has(.json) {
      Console.write(StatusReport.text(of: report, isPretty: true) + "\n")
    } else {
      Console.write(report.renamings.map { $0.line + "\n" }.joined())
    }
    guard let sentence = report.sentence else { return }
    throw Failure(sentence, code: report.isHeld ? .checkpointHeld : .failed)
  }

  /// A bucket that is not mounted here, or by whomever.
  private func recover(_ operand: Invocation.Operand) throws(Failure) -> RecoveryReport {
    let url = try BucketURL(operand, for: .prefix)
    let invocation = invocation
    return try AsyncWork.wait { () async throws(Failure) -> RecoveryReport in
      do {
        let log = try Log(invocation, otherwise: .standardError)
        let bucket = try await Bucket.open(
          url,
          options: BucketOptions(invocation),
          environment: ProcessEnvironment.variables,
          metrics: Metrics(),
          log: log
        )
        return try await BucketRecovery(invocation, of: bucket, log: log)
          .run(finishes: invocation.has(.finish))
      } catch let failure as Failure {
        throw failure
      } catch let error as DipperError {
        throw Failure("\(url.bucketName) can't be looked through: \(error.description)")
      } catch let error as BucketRecovery.Refusal {
        throw Failure(error.sentence, code: error.isHeld ? .checkpointHeld : .failed)
      } catch {
        throw Failure("\(error)")
      }
    }
  }

  /// A mount finishes its own; its daemon has the bucket's address and credentials.
  private func askDaemon(_ operand: Invocation.Operand) throws(Failure) -> RecoveryReport {
    let mountpoint: Mountpoint
    do {
      mountpoint = try Mountpoint(operand.path(named: "BUCKET-URL or MOUNTPOINT"))
    } catch let error as UsageError {
      throw Failure(error.message, code: .usage)
    } catch {
      throw Failure("\(error)")
    }
    guard let mount = mountpoint.mount(), mount.isDipper else {
      throw Failure("\(mountpoint.path) is not a mount of dipper")
    }
    let outcome = ControlClient().ask(
      ControlRequest(invocation.has(.finish) ? .finishRenamings : .renamings),
      at: mountpoint.path,
      patience: Self.patience
    ) { _ in }
    guard case .answered(let answer) = outcome else {
      throw Failure(PathFinder.silence(outcome, at: mountpoint.path))
    }
    guard let report = answer.recovery else {
      throw Failure(answer.error ?? "the daemon gave no answer that makes sense")
    }
    return report
  }
}
