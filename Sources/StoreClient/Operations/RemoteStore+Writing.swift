internal import Core
internal import StoreWire
internal import Support

extension RemoteStore {
  /// Makes a call that changes nothing.
  func read<Answer: Sendable>(
    _ call: WireCall<Answer>,
    _ context: RequestContext
  ) async throws(StoreError) -> Answer {
    do throws(TryFailure) {
      return try await make(call, context: context)
    } catch {
      throw error.error
    }
  }

  /// Makes a call that writes, and if its outcome is in doubt, asks the store what happened.
  ///
  /// In doubt is a call of which some try may have been done although no answer said so: a later
  /// try then may find the first one's work, and be refused for it.
  ///
  /// `settle` returns the answer if the store shows that the work is done and that it is
  /// ours, else nil. The failure then stands: nothing is taken for done on a guess. It throws if
  /// the store doesn't say; then that is the failure, since a refusal could be that of our own work.
  ///
  /// `isTelling` is false for a failure that says nothing of what the store can do with conditions.
  @discardableResult
  func write<Answer: Sendable>(
    _ call: WireCall<Answer>,
    body: BodySource? = nil,
    isSilent: Bool = false,
    _ context: RequestContext,
    settle: () async throws(StoreError) -> Answer? = { () throws(StoreError) in nil },
    isTelling: (StoreError) -> Bool = { _ in true }
  ) async throws(StoreError) -> Answer {
    do throws(TryFailure) {
      return try await make(call, body: body, isSilent: isSilent, context: context)
    } catch {
      if isTelling(error.error) { learn(from: error.error, call.request) }
      let isSettleable = error.mayHaveHappened && error.error.kind != .cancelled
      if isSettleable, let answer = try await settle() { return answer }
      throw error.error
    }
  }

  /// Learns from a refusal whether the store looks at conditions.
  private func learn(from error: StoreError, _ wire: WireRequest) {
    let knows: Bool
    switch (error.kind, error.status) {
    case (.alreadyExists, _), (.preconditionFailed, 412): knows = true
    case (.unsupported, 501): knows = false
    default: return
    }
    session.withLock { session in
      if wire.condition == .ifAbsent { session.capabilities.hasConditionalCreate = knows }
      if wire.condition.namesVersion, wire.operation != .deleteObject {
        session.capabilities.hasConditionalReplace = knows
      }
    }
  }

  /// Returns what the store has at `key` if it is what `proof` describes; throws if the store can't
  /// be asked.
  func found(
    _ key: ObjectKey,
    _ proof: ContentProof,
    _ context: RequestContext
  ) async throws(StoreError) -> WriteAnswer? {
    let metadata: ObjectMetadata
    do throws(StoreError) {
      metadata = try await head(key, versionID: nil, ifMatch: nil, context: context)
    } catch {
      guard error.kind == .notFound else { throw error }
      return nil
    }
    guard proof.describes(metadata) else { return nil }
    return WriteAnswer(
      etag: metadata.version.etag,
      lastModified: metadata.version.lastModified,
      versionID: metadata.currentVersionID,
      crc64: metadata.crc64
    )
  }

  /// Returns true if the store says that there is no object at `key`.
  func isMissing(_ key: ObjectKey, _ context: RequestContext) async -> Bool {
    do throws(StoreError) {
      _ = try await head(key, versionID: nil, ifMatch: nil, context: context)
      return false
    } catch {
      return error.kind == .notFound
    }
  }

  /// Returns what the signature says of a body.
  ///
  /// Over TLS nothing: the connection protects it, and a hash would mean reading a file twice.
  /// Without TLS the hash of what is in memory; a file goes unhashed there too.
  func bodyHash(of body: BodySource) -> WireRequest.BodyHash {
    switch body {
    case .empty: .empty
    case .bytes(let bytes):
      session.withLock { $0.endpoint.scheme } == .https ? .unsigned : .document(bytes)
    case .file: .unsigned
    }
  }
}
