internal import Core
internal import StoreWire

/// What was wrong with a request that the store refused without doing anything.
enum Correction: Hashable, Sendable {
  /// Its date; the store's clock says this, against ours at that moment.
  case clock(store: Timestamp, own: Timestamp)
  /// Its region; the bucket is in this one.
  case region(String)
  /// Its credentials, which were these.
  case credentials(Identity)

  /// 5 minutes.
  ///
  /// Stores allow 15 and clocks that are kept by the network are off by less than 1 s, so
  /// this is neither noise nor too late. Source: Amazon S3 API Reference, "RequestTimeTooSkewed".
  private static let clockErrorMin = Duration.seconds(300)

  /// Reads from a refusal what was wrong; nil if it names nothing that could be put right.
  init?(
    of error: StoreError,
    _ answer: WireAnswer,
    _ route: RemoteStore.Route,
    _ dialect: any WireDialect
  ) {
    if dialect.remedy(for: error) == .clock {
      guard let store = answer.date else { return nil }
      self = .clock(store: store, own: route.signedAt)
      return
    }
    switch error.kind {
    case .wrongRegion, .accessDenied, .invalidRequest, .badCredentials:
      if let region = dialect.regionHint(answer), region != route.region {
        self = .region(region)
        return
      }
    default: return nil
    }
    // The answer to HEAD has no code; what it may be about is looked at one by one.
    let isMute = error.code == nil && (error.status == 400 || error.status == 403)
    if isMute, let store = answer.date,
      abs(store.seconds - route.storeTime.seconds) > Self.clockErrorMin.components.seconds
    {
      self = .clock(store: store, own: route.signedAt)
    } else if error.kind == .badCredentials || (isMute && error.status == 400) {
      self = .credentials(route.identity)
    } else {
      return nil
    }
  }
}
