/// Why a configuration can't be used: credentials, an endpoint, a file.
package struct ConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
  /// One sentence for a person; it never has a secret in it.
  package let description: String

  /// Creates an error.
  package init(_ description: String) {
    self.description = description
  }
}
