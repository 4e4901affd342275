internal import Core
internal import StoreWire

/// Keys in a file of a TOS tool: the vendor's command line, or tosutil.
struct TOSFileCredentials: CredentialSource {
  /// Which file.
  enum Tool {
    case commandLine
    case utility
  }

  let tool: Tool
  let files: TOSConfigurationFiles

  var place: String {
    switch tool {
    case .commandLine: files.profilesPath
    case .utility: files.utilityPath
    }
  }

  var remedy: String { "put new ones there; the files are read anew" }

  func look(by deadline: Instant) async throws(ConfigurationError) -> CredentialFinding {
    let profile =
      switch tool {
      case .commandLine: try await files.profile()
      case .utility: try await files.utilityProfile()
      }
    return try profile?.finding() ?? .nothing
  }
}
