internal import Core
internal import Daemon
internal import Dipper
internal import Support

/// `dipper doctor`.
struct DoctorCommand {
  private let invocation: Invocation

  init(_ invocation: Invocation) {
    self.invocation = invocation
  }

  func run() throws(Failure) {
    var url: BucketURL?
    if let operand = invocation.operands.first { url = try BucketURL(operand, for: .prefix) }
    ProcessLimits.forbidCoreFiles()
    let environment = ProcessEnvironment.variables
    let machine = MachineFacts.gather(
      cacheDirectory: invocation.text(.cacheDirectory),
      environment: environment,
      openFileCountMax: ProcessLimits.raiseOpenFiles()
    )
    var report = DoctorReport(checks: MachineJudgement.checks(machine))
    if let url { report.checks += bucketChecks(url, environment) }
    Console.write(
      invocation.has(.json)
        ? StatusReport.text(of: report, isPretty: true) + "\n" : report.text
    )
    if report.hasFailed { throw Failure(nil) }
  }

  private func bucketChecks(
    _ url: BucketURL,
    _ environment: [String: String]
  ) -> [DoctorReport.Check] {
    let options = BucketOptions(invocation)
    do throws(DipperError) {
      let facts = try AsyncWork.wait { () async throws(DipperError) in
        // Its words are the report's; a log would say them twice.
        let bucket = try await Bucket.open(
          url,
          options: options,
          environment: environment,
          metrics: Metrics(),
          log: Log(level: .error)
        )
        return await StoreFacts.gather(bucket)
      }
      return StoreJudgement.checks(facts, now: SystemClock().wallTime)
    } catch {
      return [DoctorReport.Check("bucket", .failed, error.description)]
    }
  }
}
