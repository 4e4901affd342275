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
    let (numbers, file) = state.withLock { state in
      guard state.canBeSentEarly else { return ([Int](), state.file) }
      return (state.early?.parts.written(to: state.extents.size) ?? [], state.file)
    }
    sendEarly(numbers, from: file)
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
          retryPatience: environment.files.patience,
          to: environment.store,
          in: environment.transfers
        )
      )
    }
  }

  /// Sends parts from the data file that was written into when they were complete; by now it may be frozen,
  /// and another one be written into.
  private func sendEarly(_ numbers: [Int], from file: Int) {
    for number in numbers {
      Task {
        guard let early = state.withLock({ $0.early }) else { return }
        var part: UploadedPart?
        if let data = try? staged.file(file) {
          part = try? await early.upload.send(number, early.parts.range(of: number), of: data)
        }
        let (next, gate) = state.withLock { [part] state in
          let next = state.early?.parts.ended(number, part) ?? []
          let isIdle = state.early?.parts.isIdle ?? true
          return (next, isIdle ? state.whenEarlyIdle.take() : nil)
        }
        gate?.open()
        sendEarly(next, from: file)
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
