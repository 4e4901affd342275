/// How the parts of a transfer move.
public struct PartOptions: Hashable, Sendable {
  /// The size of a part in bytes, 5 MiB to 5 GiB; 0 means 20 MiB.
  ///
  /// It grows by itself for an object that would have more than 10,000 parts.
  public var size = 0
  /// Parts in flight, brought into 1 to 1,000.
  public var parallel = 8
  /// How often the first request and each part is tried again; 0 turns retrying off.
  public var retryCountMax = 3

  /// Creates the default options.
  public init() {}

  /// Creates options.
  public init(size: Int = 0, parallel: Int = 8, retryCountMax: Int = 3) {
    self.size = size
    self.parallel = parallel
    self.retryCountMax = retryCountMax
  }
}
