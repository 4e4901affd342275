extension ReadConditions {
  /// True if nothing is asked for.
  package var isEmpty: Bool { self == ReadConditions() }

  /// Returns in which point an object isn't what was asked for; nil if it is.
  ///
  /// A tag decides alone: the date beside it counts only where no tag was named.
  ///
  /// Source: RFC 9110 section 13.2.2.
  package func objection(to version: ObjectVersion) -> String? {
    let modified = version.lastModified.wholeSecond
    if let ifMatch {
      guard version.etag == ifMatch else { return "the object is another version now" }
    } else if let limit = ifUnmodifiedSince {
      guard modified <= limit.wholeSecond else {
        return "the object was modified after \(limit.iso8601)"
      }
    }
    if let ifNoneMatch {
      guard version.etag != ifNoneMatch else { return "the object is still the version named" }
    } else if let limit = ifModifiedSince {
      guard modified > limit.wholeSecond else {
        return "the object was not modified after \(limit.iso8601)"
      }
    }
    return nil
  }
}
