internal import CFuse
internal import Core
internal import Glibc
internal import Support

extension FuseChannel {
  /// What is known of passthrough and of the open files.
  struct Opening: Sendable {
    var passthrough: Passthrough
    var modes = OpenModes()
  }

  /// How passthrough stands if nothing more is asked.
  static func passthrough(_ options: MountOptions) -> Passthrough.State {
    guard options.backingDirectory != nil else { return .off("not wanted") }
    // The capability would only make our mount harder to stack others upon.
    guard Disk.userID == 0 else { return .off(Passthrough.reason(EPERM)) }
    return .undecided
  }

  /// The kernel has been answered: finds out whether it will read files by itself.
  func settlePassthrough() {
    guard case .undecided = opening.withLock({ $0.passthrough.state }) else { return }
    var state = Passthrough.State.on
    if initFlags.agreed & CFUSE_INIT_PASSTHROUGH == 0 {
      state = .off("the kernel can't do it")
    } else if let directory = options.backingDirectory {
      let failure = cfuse_backing_probe(session, directory)
      if failure < 0 { state = .off(Passthrough.reason(-failure)) }
    }
    settle(state)
  }

  /// A file is about to be opened; `file`, if there is one, holds all of its bytes.
  func opened(_ node: NodeID, file: Int32?) -> OpenModes.Way {
    let offer = file.flatMap { register($0, for: node) }
    let decision = opening.withLock { opening in
      let decision = opening.modes.opened(node, offer: offer)
      if case .backed = decision.way { opening.passthrough.openCount += 1 }
      return decision
    }
    if let surplus = decision.surplus { cfuse_backing_close(session, surplus.number) }
    return decision.way
  }

  /// A file is to be opened that may be written to, which can't be beside those that the kernel reads by
  /// itself: its name is given another node then.
  ///
  /// - Returns: true if so; the kernel is to look the name up again.
  func detachIfBacked(_ node: NodeID) -> Bool {
    guard opening.withLock({ $0.modes.isBacked(node) }) else { return false }
    operations.detach(node)
    return true
  }

  /// A file was released, or its opening had no taker.
  func closed(_ node: NodeID) {
    let unused = opening.withLock { $0.modes.closed(node) }
    if let unused { cfuse_backing_close(session, unused.number) }
  }

  private func register(_ file: Int32, for node: NodeID) -> OpenModes.Backing? {
    let isOfUse = opening.withLock { opening in
      opening.passthrough.state == .on && opening.modes.hasUse(forBackingOf: node)
    }
    guard isOfUse else { return nil }
    let number = cfuse_backing_open(session, file)
    // The ordinary way is always there.
    if number < 0, Passthrough.isFinal(-number) { settle(.off(Passthrough.reason(-number))) }
    return number > 0 ? OpenModes.Backing(number: number) : nil
  }

  private func settle(_ state: Passthrough.State) {
    opening.withLock { $0.passthrough.state = state }
    if case .off(let reason) = state {
      log.write(.info, "the kernel does not read cached files by itself: \(reason)")
    }
  }
}
