internal import Core

/// Credentials that a program prints: a profile's `credential_process`.
///
/// Source: AWS SDKs and Tools Reference Guide, "Process credential provider".
struct ProgramCredentials: CredentialSource {
  let command: String
  /// Whose it is, such as `profile "work"`.
  let owner: String
  let services: CredentialServices

  /// 60 s: some of them ask a person to touch a key.
  static let patience = Duration.seconds(60)

  // The command itself may have a secret among its arguments.
  var place: String { "the credential_process of \(owner)" }
  var remedy: String { "run the command by hand to see what it says" }

  func look(by deadline: Instant) async throws(ConfigurationError) -> CredentialFinding {
    guard let words = CommandWords.split(command) else {
      throw ConfigurationError("\(place) has a quotation that isn't closed, or no word")
    }
    guard !command.utf8.contains(0) else {
      throw ConfigurationError("\(place) has a NUL in it")
    }
    let result: ProgramOutput
    do throws(DiskFailure) {
      result = try await services.programs.run(
        words,
        patience: min(Self.patience, deadline - services.time.now)
      )
    } catch {
      throw ConfigurationError("\(place) can't be run: \(error.reason)")
    }
    if result.isLate { throw ConfigurationError("\(place) took too long\(said(result))") }
    if result.isTooLarge {
      throw ConfigurationError("\(place) wrote more than credentials can be")
    }
    guard result.exitCode == 0 else {
      let ending = result.exitCode.map { "ended with code \($0)" } ?? "was ended by a signal"
      throw ConfigurationError("\(place) \(ending)\(said(result))")
    }
    let keys = try CredentialDocument.credentials(
      result.output,
      by: .program,
      place: "the output of \(place)"
    )
    return .found(.keys(keys))
  }

  /// What the program said of a failure, without secrets; its standard output is never shown.
  private func said(_ result: ProgramOutput) -> String {
    let text = Redaction.redacted(String(decoding: result.errors, as: UTF8.self))
    return text.isEmpty ? "" : ": \(text)"
  }
}

extension ProgramCredentials: CustomStringConvertible, CustomReflectable {
  /// The place, not the command.
  var description: String { place }

  var customMirror: Mirror { Mirror(self, children: []) }
}
