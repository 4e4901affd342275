internal import Caching
internal import Core
internal import Support
internal import Transfer

// A file that is written in order is uploaded meanwhile.
extension Draft {
  /// The file has become longer by a write at its end: sends what is complete.
  func grown() {
    let limits = environment.limits
    let isDue = state.withLock { state in
      state.early == nil && state.canBeSentEarly && state.extents.size > limits.putSizeMax
    }
    if isDue, let stream = try? StreamPlan(partSize: limits.partSize, limits: limits.parts) {
      begin(stream)
    }
    let numbers = state.withLock { state in
      guard state.canBeSentEarly else { return [Int]() }
      return state.early?.parts.written(to: state.extents.size) ?? []
    }
    sendEarly(numbers)
  }

  /// Waits for the parts on their way, and begins no more.
  ///
  /// - Returns: the parts that are right, and the upload that they are in; nil if there are none.
  func endEarly() async -> (parts: [UploadedPart], upload: EarlyUpload)? {
    while true {
      let gate = Gate()
      let (early, isIdle) = state.withLock { state in
        state.early?.parts.end()
        let isIdle = state.early?.parts.isIdle ?? true
        if !isIdle { state.whenEarlyIdle = gate }
        return (state.early, isIdle)
      }
      guard let early else { return nil }
      if isIdle {
        state.withLock { $0.early = nil }
        guard !early.parts.sent.isEmpty else { return nil }
        return (Array(early.parts.sent.values), early.upload)
      }
      await gate.wait()
    }
  }

  private func begin(_ stream: StreamPlan) {
    state.withLock { state in
      guard state.early == nil, state.canBeSentEarly else { return }
      var facts = state.facts
      environment.stamp(&facts, state.isModifiedSet ? state.modified : nil)
      state.early = (
        EarlyParts(stream, parallel: environment.settings.parallel),
        EarlyUpload(
          PutRequest(key: state.key, condition: .none, facts: facts),
          of: environment.storeName,
          checkpointPath: staged.checkpointPath,
          retryCountMax: environment.settings.retryCountMax,
          to: environment.store,
          in: environment.transfers
        )
      )
    }
  }

  private func sendEarly(_ numbers: [Int]) {
    for number in numbers {
      Task {
        let (early, file) = state.withLock { ($0.early, $0.file) }
        guard let early else { return }
        var part: UploadedPart?
        if let file = try? staged.file(file) {
          part = try? await early.upload.send(number, early.parts.range(of: number), of: file)
        }
        let (next, gate) = state.withLock { [part] state in
          let next = state.early?.parts.ended(number, part) ?? []
          let isIdle = state.early?.parts.isIdle ?? true
          return (next, isIdle ? state.whenEarlyIdle.take() : nil)
        }
        gate?.open()
        sendEarly(next)
      }
    }
  }
}

extension DraftState {
  /// All of it has been written, into one file, and nobody publishes it.
  ///
  /// What is edited is put together from parts that the store copies instead.
  fileprivate var canBeSentEarly: Bool {
    guard flight == nil, !isDiscarded, knowsFacts, extents.pieces.count == 1,
      case .staged(let file) = extents.pieces[0].place
    else { return false }
    return file == self.file
  }
}
