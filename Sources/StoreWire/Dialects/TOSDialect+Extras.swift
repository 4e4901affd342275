package import Core

// The operations that S3 hasn't.
extension TOSDialect {
  package func rename(
    _ request: RenameRequest,
    in facts: BucketFacts?
  ) throws(StoreError) -> WireCall<Void> {
    let wire = try TOSRequests.renameObject(
      request,
      makesDirectories: facts?.isHierarchical == true
    )
    return done(wire)
  }

  package func replaceMetadata(_ request: PutRequest) throws(StoreError) -> WireCall<Void> {
    done(try TOSRequests.setObjectMeta(request))
  }

  package func setModificationTime(
    of key: ObjectKey,
    to time: Timestamp
  ) throws(StoreError) -> WireCall<Void> {
    done(try TOSRequests.setObjectTime(key, to: time))
  }

  package func status(
    of key: ObjectKey,
    in facts: BucketFacts
  ) throws(StoreError) -> WireCall<KeyStatus> {
    guard !facts.isHierarchical else {
      let wire = try TOSRequests.headObject(key)
      return WireCall(wire) { answer throws(StoreError) in
        try TOSAnswers.headedStatus(answer, to: wire)
      }
    }
    let wire = try TOSRequests.getFileStatus(key)
    return WireCall(wire) { answer throws(StoreError) in
      try TOSAnswers.fileStatus(answer, to: wire, key: key)
    }
  }

  package func deleteDirectory(_ key: ObjectKey) throws(StoreError) -> WireCall<Void> {
    let wire = try TOSRequests.deleteDirectory(key)
    return WireCall(wire) { answer throws(StoreError) in try TOSAnswers.deleted(answer, to: wire) }
  }

  package func restore(
    _ key: ObjectKey,
    days: Int,
    tier: RestoreTier
  ) throws(StoreError) -> WireCall<Void> {
    let wire = try TOSRequests.restoreObject(key, days: days, tier: tier)
    return WireCall(wire) { answer throws(StoreError) in try TOSAnswers.restored(answer, to: wire) }
  }

  package func putLink(
    _ key: ObjectKey,
    to target: LinkTarget
  ) throws(StoreError) -> WireCall<Void> {
    done(try TOSRequests.putSymlink(key, to: target))
  }

  package func linkTarget(of key: ObjectKey) throws(StoreError) -> WireCall<LinkTarget> {
    let wire = try TOSRequests.getSymlink(key)
    let own = bucket
    return WireCall(wire) { answer throws(StoreError) in
      var target = try TOSAnswers.linkTarget(answer, to: wire)
      if target.bucket == own { target.bucket = nil }
      return target
    }
  }

  private func done(_ wire: WireRequest) -> WireCall<Void> {
    WireCall(wire) { answer throws(StoreError) in try TOSAnswers.done(answer, to: wire) }
  }
}
