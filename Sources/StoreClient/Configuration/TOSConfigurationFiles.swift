internal import Core
internal import StoreWire

/// The files in which the tools of TOS and Volcengine keep keys, regions and endpoints.
///
/// Source: the vendor's command line for TOS (`ve-tos`, `volcengine/ve-storage-uni-cli`), its
/// predecessor tosutil, and Volcengine's command line (`ve`, `volcengine/volcengine-cli`).
package struct TOSConfigurationFiles: Sendable {
  /// A file, and who says that it is there.
  private struct Place {
    let path: String
    /// The variable that names it; nil for the usual place, where it may be missing.
    let variable: String?
  }

  private let profiles: Place?
  private let secrets: Place?
  private let utility: Place?
  private let commandLine: Place?
  private let environment: [String: String]
  private let explicitName: String?
  private let reader: any FileReader

  /// Finds the files as the environment names them, else below the home directory.
  ///
  /// - Parameters:
  ///   - environment: this process's variables.
  ///   - profile: the profile that the command line names.
  ///   - reader: the disk.
  package init(
    environment: [String: String],
    profile: String?,
    reader: any FileReader = DiskFileReader()
  ) {
    let home = environment["HOME"].nonEmpty
    func place(_ variable: String?, _ path: String?) -> Place? {
      guard let variable, let named = environment[variable].nonEmpty else {
        return path.map { Place(path: $0, variable: nil) }
      }
      guard named.hasPrefix("~/"), let home else { return Place(path: named, variable: variable) }
      return Place(path: home + named.dropFirst(), variable: variable)
    }
    func below(_ directory: String?, _ name: String) -> String? {
      directory.map { "\($0)/\(name)" }
    }
    profiles = place("TOS_CONFIG_PATH", below(home, ".tos/config.toml"))
    secrets = place(
      "TOS_CREDENTIALS_PATH",
      profiles.map { $0.path.directory + "credentials.toml" }
    )
    utility = place(nil, below(home, ".tosutilconfig"))
    commandLine = place("VOLCENGINE_CLI_CONFIG_FILE", below(home, ".volcengine/config.json"))
    self.environment = environment
    explicitName = profile.nonEmpty
    self.reader = reader
  }

  /// The profile that the vendor's command line for TOS uses; nil if there is none.
  ///
  /// - Throws: if a file can't be read, or has no profile of the name in `TOS_PROFILE`. A profile that
  ///   the command line names may also be one of Volcengine's command line.
  func profile() async throws(ConfigurationError) -> TOSFileProfile? {
    let name = explicitName ?? environment["TOS_PROFILE"].nonEmpty
    let shown = "profile \"\((name ?? "default").utf8.printable)\" in \(profilesPath)"
    let plain = try await toml(profiles)
    let secret = try await toml(secrets)
    var merged = plain?.file ?? TOMLFile()
    if let secret { merged.merge(secret.file) }
    guard let found = TOSFileProfile(merged, name: name ?? "default", place: shown) else {
      guard let name, explicitName == nil else { return nil }
      throw ConfigurationError("there is no profile \"\(name.utf8.printable)\" in \(profilesPath)")
    }
    var profile = found
    for (file, place) in [(plain, profiles), (secret, secrets)] {
      guard let file, let place, file.isOpen else { continue }
      let isSecretHere =
        TOSFileProfile(file.file, name: name ?? "default", place: "")?.secretAccessKey != nil
      if isSecretHere { profile.remark = FileContents.remark(on: place.path) }
    }
    return profile
  }

  /// What tosutil has; nil if there is no such file, or if a profile was asked for by name, which
  /// tosutil doesn't have.
  func utilityProfile() async throws(ConfigurationError) -> TOSFileProfile? {
    guard explicitName == nil, let utility, let contents = try await contents(utility) else {
      return nil
    }
    var profile = TOSFileProfile(
      TOSUtilFile(parsing: contents.bytes),
      place: utility.path.utf8.printable
    )
    if contents.isOpenToOthers, profile.secretAccessKey != nil {
      profile.remark = FileContents.remark(on: utility.path)
    }
    return profile
  }

  /// The profile that Volcengine's command line uses.
  ///
  /// - Throws: if the file can't be read, or if no file has a profile that was asked for by name.
  func commandLineProfile() async throws(ConfigurationError) -> VolcengineProfile? {
    guard let commandLine, let contents = try await contents(commandLine) else {
      return try await absence()
    }
    let path = commandLine.path.utf8.printable
    let document = try VolcengineConfiguration(contents.bytes, place: path)
    let asked = explicitName ?? environment["VOLCENGINE_PROFILE"].nonEmpty
    let name = asked ?? document.current.nonEmpty ?? "default"
    guard var profile = document.profile(name, place: path) else {
      guard explicitName == nil, let asked else { return try await absence() }
      throw ConfigurationError("there is no profile \"\(asked.utf8.printable)\" in \(path)")
    }
    if contents.isOpenToOthers, profile.fields.secretAccessKey.nonEmpty != nil {
      profile.remark = FileContents.remark(on: commandLine.path)
    }
    return profile
  }

  /// The names of the vendor's files for TOS, for messages.
  var profilesPath: String {
    let paths = [profiles, secrets].compactMap { $0?.path.utf8.printable }
    return paths.isEmpty ? "no file, because HOME is not set" : paths.joined(separator: ", ")
  }

  /// The name of tosutil's file.
  var utilityPath: String { utility?.path.utf8.printable ?? "~/.tosutilconfig" }

  /// The name of the file of Volcengine's command line.
  var commandLinePath: String { commandLine?.path.utf8.printable ?? "~/.volcengine/config.json" }

  /// The profile that the command line names.
  var profileName: String? { explicitName }

  /// Returns nil, unless a profile was asked for by name that the other files don't have either.
  private func absence() async throws(ConfigurationError) -> VolcengineProfile? {
    guard let explicitName, try await profile() == nil else { return nil }
    throw ConfigurationError(
      "there is no profile \"\(explicitName.utf8.printable)\" in \(profilesPath), \(commandLinePath)"
    )
  }

  private func toml(
    _ place: Place?
  ) async throws(ConfigurationError) -> (file: TOMLFile, isOpen: Bool)? {
    guard let place, let contents = try await contents(place) else { return nil }
    do throws(ProfileFileError) {
      return (try TOMLFile(parsing: contents.bytes), contents.isOpenToOthers)
    } catch {
      throw ConfigurationError("\(place.path.utf8.printable), \(error)")
    }
  }

  private func contents(_ place: Place) async throws(ConfigurationError) -> FileContents? {
    let found: FileContents?
    do throws(DiskFailure) {
      found = try await reader.contents(of: place.path)
    } catch {
      throw ConfigurationError(error.description)
    }
    if found == nil, let variable = place.variable {
      throw ConfigurationError(
        "\(variable) names \(place.path.utf8.printable), and there is no such file"
      )
    }
    return found
  }
}

extension String {
  /// What precedes the last component, with its slash; empty if there is nothing.
  fileprivate var directory: Substring {
    self[..<(lastIndex(of: "/").map(index(after:)) ?? startIndex)]
  }
}
