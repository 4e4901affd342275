internal import Core
internal import StoreWire

/// The two files in which the AWS command line keeps profiles.
package struct ConfigurationFiles: Sendable {
  /// Where region, endpoint and services stand.
  package let configPath: String?
  /// Where keys stand.
  package let credentialsPath: String?

  private let reader: any FileReader

  /// Finds the files as the environment names them, else below the home directory.
  package init(environment: [String: String], reader: any FileReader = DiskFileReader()) {
    let home = environment["HOME"].nonEmpty
    func path(_ variable: String, _ name: String) -> String? {
      guard let named = environment[variable].nonEmpty else {
        return home.map { "\($0)/.aws/\(name)" }
      }
      guard named.hasPrefix("~/"), let home else { return named }
      return home + named.dropFirst()
    }
    configPath = path("AWS_CONFIG_FILE", "config")
    credentialsPath = path("AWS_SHARED_CREDENTIALS_FILE", "credentials")
    self.reader = reader
  }

  /// The files' names, for messages.
  package var description: String {
    let paths = [configPath, credentialsPath].compactMap { $0 }
    return paths.isEmpty ? "no file, because HOME is not set" : paths.joined(separator: ", ")
  }

  /// Reads the profile of this name.
  ///
  /// - Parameter name: the profile's name; nil is the one called `default`.
  /// - Returns: what the files say of it; an empty profile if there is no `default`.
  /// - Throws: if a file can't be read, or a profile that was asked for by name is in neither.
  package func profile(named name: String?) async throws(ConfigurationError) -> ConfigurationProfile
  {
    let (config, configIsOpen) = try await file(configPath, .config)
    let (credentials, credentialsAreOpen) = try await file(credentialsPath, .credentials)
    let merged = ProfileFile.merged(config: config, credentials: credentials)
    guard let section = merged.profiles[name ?? "default"] else {
      guard let name else { return ConfigurationProfile(name: "default") }
      throw ConfigurationError("there is no profile \"\(name.utf8.printable)\" in \(description)")
    }
    var profile = ConfigurationProfile(name: name ?? "default")
    profile.properties = section.properties
    profile.remark =
      [
        (configPath, config, configIsOpen), (credentialsPath, credentials, credentialsAreOpen),
      ].lazy.compactMap { path, file, isOpen in
        let hasSecret = file.profiles[profile.name]?.properties["aws_secret_access_key"] != nil
        return isOpen && hasSecret ? path.map { FileContents.remark(on: $0) } : nil
      }.first
    if let services = section.properties["services"] {
      profile.serviceEndpointURL =
        merged.others["services"]?[services]?.nested["s3"]?["endpoint_url"]
    }
    return profile
  }

  private func file(
    _ path: String?,
    _ kind: ProfileFile.Kind
  ) async throws(ConfigurationError) -> (file: ProfileFile, isOpenToOthers: Bool) {
    guard let path else { return (ProfileFile(), false) }
    let contents: FileContents?
    do throws(DiskFailure) {
      contents = try await reader.contents(of: path)
    } catch {
      throw ConfigurationError(error.description)
    }
    do throws(ProfileFileError) {
      return (
        try ProfileFile(parsing: contents?.bytes ?? [], kind: kind),
        contents?.isOpenToOthers ?? false
      )
    } catch {
      throw ConfigurationError("\(path), \(error)")
    }
  }
}

/// What the configuration files say under one name.
package struct ConfigurationProfile: Sendable {
  /// The profile's name.
  package let name: String
  /// The values by lower-case name; some are secret.
  var properties: [String: String] = [:]
  /// The endpoint that the profile's `services` section has for S3.
  var serviceEndpointURL: String?
  /// What a person should know of the file that has the secret.
  var remark: String?

  /// Creates an empty profile.
  package init(name: String = "default") {
    self.name = name
  }

  /// The region, if it names one.
  package var region: String? { properties["region"].nonEmpty }

  /// The endpoint, if it names one.
  package var endpointURL: String? {
    guard properties["ignore_configured_endpoint_urls"]?.lowercased() != "true" else { return nil }
    return serviceEndpointURL.nonEmpty ?? properties["endpoint_url"].nonEmpty
  }
}

extension ConfigurationProfile: CustomStringConvertible, CustomReflectable {
  /// The name alone: the values may be secret.
  package var description: String { "profile \"\(name)\"" }

  /// The name alone, also for `dump`.
  package var customMirror: Mirror { Mirror(self, children: ["name": name]) }
}
