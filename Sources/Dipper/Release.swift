/// Which release of Dipper this is.
public enum Release {
  /// The version, by the rules of semantic versioning.
  public static let version = "0.1.0"
}
