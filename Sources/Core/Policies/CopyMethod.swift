/// How an object is copied on the server: by one request, or in parts side by side.
package enum CopyMethod: Hashable, Sendable {
  /// One request copies it with all that belongs to it.
  case whole
  /// A multipart upload copies it range by range.
  case parts(PartPlan)

  /// Chooses for an object of `size` bytes.
  ///
  /// One request is right up to `wholeSizeMax`, where the caller names a threshold, and never beyond
  /// what the store takes. What would be a single part is copied whole, too.
  package init(
    size: Int,
    partSize: Int,
    wholeSizeMax: Int?,
    singleRequestSizeMax: Int,
    limits: PartLimits = PartLimits()
  ) throws(PartLimits.Violation) {
    let plan = try PartPlan(size: size, partSize: partSize, limits: limits)
    let isSmall = size <= wholeSizeMax ?? singleRequestSizeMax || plan.count <= 1
    self = isSmall && size <= singleRequestSizeMax ? .whole : .parts(plan)
  }
}
