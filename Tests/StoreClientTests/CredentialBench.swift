import Core
import HTTP
import StoreWire
import Support

@testable import StoreClient

/// Credential sources on a scripted network, a scripted machine and a clock that stands still.
struct CredentialBench {
  static let secret = "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY"
  static let token = "FwoGZXIvYXdzEXAMPLETOKEN"
  static let webToken = "eyJhbGciOi.eyJzdWIiOiJ4.c2lnbmF0dXJl"

  let time = ManualTime()
  let client: ScriptedClient
  let files: MemoryFiles
  let programs: ScriptedPrograms

  init(
    files: [String: String] = [:],
    areOpenToOthers: Bool = false,
    programs: ScriptedPrograms = ScriptedPrograms([]),
    script: @escaping ScriptedClient.Script = { _, _ in .failure(.unreachable) }
  ) {
    client = ScriptedClient(time: time, script: script)
    self.files = MemoryFiles(files, areOpenToOthers: areOpenToOthers)
    self.programs = programs
  }

  init(_ answers: [ScriptedAnswer], files: [String: String] = [:]) {
    self.init(files: files) { _, index in answers[min(index, answers.count - 1)] }
  }

  var services: CredentialServices {
    CredentialServices(
      RemoteStore.Surroundings(
        client: client,
        time: time,
        sleep: { [time] in await time.sleep(until: $0) },
        random: { 1 },
        log: Log(level: .error)
      ),
      files: files,
      programs: programs
    )
  }

  /// The chain of an environment.
  func chain(
    _ environment: [String: String],
    options: StoreOptions = StoreOptions(),
    random: Double = 0
  ) -> CredentialChain {
    CredentialChain(
      options: options,
      environment: environment,
      files: ConfigurationFiles(environment: environment, reader: files),
      region: "eu-west-1",
      services: services,
      surroundings: CredentialChain.Surroundings(
        time: time,
        sleep: { [time] in await time.sleep(until: $0) },
        random: { random },
        log: Log(level: .error)
      )
    )
  }

  /// The chain of an environment for TOS.
  func tosChain(
    _ environment: [String: String],
    options: StoreOptions = StoreOptions()
  ) -> CredentialChain {
    CredentialChain(
      options: options,
      environment: environment,
      files: TOSConfigurationFiles(
        environment: environment,
        profile: options.profile,
        reader: files
      ),
      services: services,
      surroundings: CredentialChain.Surroundings(
        time: time,
        sleep: { [time] in await time.sleep(until: $0) },
        random: { 0 },
        log: Log(level: .error)
      )
    )
  }

  /// Looks once, at most for a minute; what is thrown as text.
  func find(
    _ environment: [String: String],
    options: StoreOptions = StoreOptions()
  ) async -> (keys: Credentials?, failure: String) {
    await find(in: chain(environment, options: options))
  }

  /// Looks once for TOS, at most for a minute; what is thrown as text.
  func findTOS(
    _ environment: [String: String],
    options: StoreOptions = StoreOptions()
  ) async -> (keys: Credentials?, failure: String) {
    await find(in: tosChain(environment, options: options))
  }

  private func find(in chain: CredentialChain) async -> (keys: Credentials?, failure: String) {
    do throws(ConfigurationError) {
      let found = try await chain.identity(by: time.now + .seconds(60))
      return (found.credentials, "")
    } catch {
      return (nil, error.description)
    }
  }

  /// The document of a service.
  static func document(
    id: String = "ASIAEXAMPLE",
    expiration: String? = "2026-11-30T14:30:00Z",
    code: String? = "Success"
  ) -> ScriptedAnswer {
    let end = expiration.map { ", \"Expiration\": \"\($0)\"" } ?? ""
    let code = code.map { "\"Code\": \"\($0)\", " } ?? ""
    return .answer(
      200,
      text: "{\(code)\"AccessKeyId\": \"\(id)\", \"SecretAccessKey\": \"\(secret)\", "
        + "\"Token\": \"\(token)\"\(end), \"Type\": \"AWS-HMAC\", \"N\": 7}"
    )
  }
}

/// Programs that end as scripted, in order, the last one again and again.
final class ScriptedPrograms: ProgramRunner {
  private let outputs: [ProgramOutput]
  private let asked = Lock<[(words: [String], patience: Duration)]>([])

  init(_ outputs: [ProgramOutput]) {
    self.outputs = outputs
  }

  /// The words of every program so far.
  var commands: [[String]] { asked.withLock { $0.map(\.words) } }
  /// How long each of them was given.
  var patience: [Duration] { asked.withLock { $0.map(\.patience) } }

  func run(_ words: [String], patience: Duration) async throws(DiskFailure) -> ProgramOutput {
    let index = asked.withLock { asked in
      asked.append((words, patience))
      return asked.count - 1
    }
    guard let last = outputs.indices.last else {
      throw DiskFailure(errno: 2, action: "start it", reason: "No such file or directory")
    }
    return outputs[min(index, last)]
  }
}
