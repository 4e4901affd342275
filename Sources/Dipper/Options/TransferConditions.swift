internal import Core

/// What must hold of an object that is read or copied, or nothing is done.
public struct TransferConditions: Hashable, Sendable {
  /// Its tag must be this one.
  public var ifMatch: String?
  /// Its tag must not be this one.
  public var ifNoneMatch: String?
  /// It must have been modified after this moment, in seconds since 1970.
  public var ifModifiedSince: Int?
  /// It must not have been modified after this moment, in seconds since 1970.
  public var ifUnmodifiedSince: Int?

  /// Creates conditions, of which none need be given.
  public init(
    ifMatch: String? = nil,
    ifNoneMatch: String? = nil,
    ifModifiedSince: Int? = nil,
    ifUnmodifiedSince: Int? = nil
  ) {
    self.ifMatch = ifMatch
    self.ifNoneMatch = ifNoneMatch
    self.ifModifiedSince = ifModifiedSince
    self.ifUnmodifiedSince = ifUnmodifiedSince
  }

  var core: ReadConditions {
    var conditions = ReadConditions(ifMatch: ifMatch.map { ETag($0) })
    conditions.ifNoneMatch = ifNoneMatch.map { ETag($0) }
    conditions.ifModifiedSince = ifModifiedSince.map { Timestamp(seconds: $0) }
    conditions.ifUnmodifiedSince = ifUnmodifiedSince.map { Timestamp(seconds: $0) }
    return conditions
  }
}
