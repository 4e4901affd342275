internal import Daemon
internal import Support

/// Carries one invocation out.
struct Program {
  let invocation: Invocation
  /// The arguments as they were given, the program's name first.
  let arguments: [[UInt8]]
  let report: StartReport

  init(_ invocation: Invocation, arguments: [[UInt8]], report: StartReport) {
    self.invocation = invocation
    self.arguments = arguments
    self.report = report
  }

  /// Returns the exit code; what there was to say has been said.
  func run() -> ExitCode {
    do throws(Failure) {
      try checkResources()
      try perform()
      return .done
    } catch {
      if let sentence = error.sentence {
        if report.isBackground {
          report.failed(code: error.code, sentence)
        } else {
          Console.complain(sentence)
        }
      }
      return error.code
    }
  }

  private func checkResources() throws(Failure) {
    let isStarter = !report.isBackground && !invocation.has(.foreground)
    let needs = ResourceNeeds(invocation, isStarter: isStarter, poolSize: Thread.poolSize)
    do throws(ResourceNeeds.Shortage) {
      try needs.check()
    } catch {
      throw Failure(error.sentence)
    }
  }

  private func perform() throws(Failure) {
    switch invocation.command {
    case .mount: try MountCommand(self).run()
    case .unmount: try UnmountCommand(invocation).run()
    case .status: try StatusCommand(invocation).run()
    case .demo: try DemoCommand(self).run()
    case .get: try GetCommand(invocation).run()
    case .put: try PutCommand(invocation).run()
    case .cp: try CopyCommand(invocation).run()
    case .ls:
      let list = ListCommand(invocation)
      try AsyncWork.wait { () async throws(Failure) in try await list.run() }
    case .warm, .evict: try CacheCommand(invocation).run()
    case .map: try MapCommand(invocation).run()
    case .recover: try RecoverCommand(invocation).run()
    case .doctor: try DoctorCommand(invocation).run()
    }
  }
}
