internal import Core
internal import Support

/// The questions that a file system asks of a store.
struct StoreQueries: Sendable {
  let store: any ObjectStore
  let time: any TimeSource
  let options: FilesystemOptions
  /// Tells components apart that are too long for a name.
  let digest: NameDigest

  /// What a lookup found under a plain name.
  struct Finding: Sendable {
    /// The object at the key; nil if there is none.
    var object: ObjectMetadata?
    /// True if there are keys below the key and a slash.
    var isDirectory = false
  }

  /// The component that a name shows the beginning of.
  struct LongFinding: Sendable {
    let component: [UInt8]
    /// What is there; nil if more pages follow that may tell of it.
    let finding: Finding?

    /// Looks for the component in a page of the directory at `prefix`; nil if it isn't there.
    init?(
      _ name: NameCodec.LongName,
      below prefix: ObjectKey,
      in page: ListPage,
      _ digest: NameDigest
    ) {
      let slash = UInt8(ascii: "/")
      let component = (page.objects.lazy.map(\.key) + page.commonPrefixes).lazy
        .filter { $0.hasPrefix(prefix) }
        .map { $0.bytes[prefix.bytes.count...].prefix { $0 != slash } }
        .first { name.isName(of: $0, digest) }
      guard let component else { return nil }
      self.component = Array(component)
      guard page.nextToken == nil else {
        finding = nil
        return
      }
      let key = ObjectKey(prefix.bytes + component)
      let below = ObjectKey(key.bytes + [slash])
      finding = Finding(
        object: page.objects.first { $0.key == key },
        isDirectory: (page.objects.lazy.map(\.key) + page.commonPrefixes).contains {
          $0.hasPrefix(below)
        }
      )
    }
  }

  /// A listing page's answers are empty and name another page at most this often in a row.
  private static let emptyPageCountMax = 1000

  /// Asks for the object at `key`; success with nil says that there is none.
  func head(
    _ key: ObjectKey,
    hasFallback: Bool,
    by deadline: Instant
  ) async -> Result<ObjectMetadata?, StoreError> {
    await patiently(hasFallback: hasFallback, by: deadline) { context in await head(key, context) }
  }

  /// Asks at once for the object at `key` and for keys below `key/`.
  ///
  /// Where directories exist by themselves a name is a file's or a directory's, one request tells, and
  /// a listing might not show a directory that is empty.
  func find(
    _ key: ObjectKey,
    mayBeObject: Bool,
    hasFallback: Bool,
    by deadline: Instant
  ) async -> Result<Finding, StoreError> {
    await patiently(hasFallback: hasFallback, by: deadline) { context in
      let capabilities = store.capabilities
      if mayBeObject, capabilities.hasDirectories, capabilities.hasKeyStatus {
        return await status(key, context)
      }
      async let object = mayBeObject ? head(key, context) : .success(nil)
      async let directory = hasKeys(below: ObjectKey(key.bytes + [UInt8(ascii: "/")]), context)
      return Self.finding(await object, await directory)
    }
  }

  /// Asks which component a name shows the beginning of, among those of the directory at `prefix`
  /// that begin so; success with nil says that it is none of them.
  func component(
    of name: NameCodec.LongName,
    below prefix: ObjectKey,
    hasFallback: Bool,
    by deadline: Instant
  ) async -> Result<LongFinding?, StoreError> {
    await patiently(hasFallback: hasFallback, by: deadline) { context in
      var request = ListRequest(prefix: ObjectKey(prefix.bytes + name.head), isDelimited: true)
      var course = ListingCourse()
      while true {
        switch await list(request, context) {
        // Where directories exist by themselves, one that doesn't exist may be told so.
        case .failure(let error) where error.kind == .notFound: return .success(nil)
        case .failure(let error): return .failure(error)
        case .success(let page):
          if let finding = LongFinding(name, below: prefix, in: page, digest) {
            return .success(finding)
          }
          let isNews = !page.objects.isEmpty || !page.commonPrefixes.isEmpty
          guard course.goesOn(withToken: page.nextToken, isNews: isNews) else {
            let message = "the store's listing goes round in circles"
            return .failure(
              StoreError(.invalidAnswer, .listObjects, key: request.prefix, message: message)
            )
          }
          guard let token = page.nextToken else { return .success(nil) }
          request.continuationToken = token
        }
      }
    }
  }

  /// Asks for a page of a directory's listing, or of everything below it.
  ///
  /// Many may wait for it, each with a deadline of its own; the page has all the time of one.
  func page(
    of prefix: ObjectKey,
    token: String?,
    startAfter: ObjectKey? = nil,
    isDelimited: Bool = true,
    hasFallback: Bool
  ) async -> Result<ListPage, StoreError> {
    await patiently(hasFallback: hasFallback, by: time.now + options.deadline) { context in
      let request = ListRequest(
        prefix: prefix,
        isDelimited: isDelimited,
        continuationToken: token,
        startAfter: startAfter
      )
      return await list(request, context)
    }
  }

  private static func finding(
    _ object: Result<ObjectMetadata?, StoreError>,
    _ directory: Result<Bool, StoreError>
  ) -> Result<Finding, StoreError> {
    switch (object, directory) {
    case (.success(let object), .success(let isDirectory)):
      return .success(Finding(object: object, isDirectory: isDirectory))
    case (.failure(let error), .success(let isDirectory)):
      // Without the right to list, some stores answer 403 where there is no object; what is known
      // to be a directory needs no object.
      return isDirectory ? .success(Finding(isDirectory: true)) : .failure(error)
    case (.success(let object?), .failure(let error)) where error.kind == .accessDenied:
      // Credentials that may read keys but not list them can still read what they can name.
      return .success(Finding(object: object))
    case (.success, .failure(let error)), (.failure(let error), .failure):
      return .failure(error)
    }
  }

  private func head(
    _ key: ObjectKey,
    _ context: RequestContext
  ) async -> Result<ObjectMetadata?, StoreError> {
    do throws(StoreError) {
      return .success(try await store.head(key, versionID: nil, ifMatch: nil, context: context))
    } catch {
      return error.kind == .notFound ? .success(nil) : .failure(error)
    }
  }

  private func status(
    _ key: ObjectKey,
    _ context: RequestContext
  ) async -> Result<Finding, StoreError> {
    do throws(StoreError) {
      switch try await store.status(of: key, context: context) {
      case .object(let metadata): return .success(Finding(object: metadata))
      case .prefix: return .success(Finding(isDirectory: true))
      case .nothing: return .success(Finding())
      }
    } catch {
      return .failure(error)
    }
  }

  private func hasKeys(
    below prefix: ObjectKey,
    _ context: RequestContext
  ) async -> Result<Bool, StoreError> {
    var request = ListRequest(prefix: prefix, isDelimited: false, countMax: 1)
    for _ in 0..<Self.emptyPageCountMax {
      switch await list(request, context) {
      case .failure(let error) where error.kind == .notFound: return .success(false)
      case .failure(let error): return .failure(error)
      case .success(let page):
        if !page.objects.isEmpty || !page.commonPrefixes.isEmpty { return .success(true) }
        // A page may be empty although more follows.
        guard let token = page.nextToken, token != request.continuationToken else {
          return .success(false)
        }
        request.continuationToken = token
      }
    }
    return .success(false)
  }

  private func list(
    _ request: ListRequest,
    _ context: RequestContext
  ) async -> Result<ListPage, StoreError> {
    do throws(StoreError) {
      return .success(try await store.list(request, context: context))
    } catch {
      return .failure(error)
    }
  }

  /// Asks until an operation's deadline; if older knowledge could serve, first for a shorter time.
  private func patiently<Answer: Sendable>(
    hasFallback: Bool,
    by operationDeadline: Instant,
    _ ask: (RequestContext) async -> Result<Answer, StoreError>
  ) async -> Result<Answer, StoreError> {
    let deadline = operationDeadline - PatienceLedger.reserve(of: options.deadline)
    if hasFallback {
      let answer = await ask(context(min(time.now + options.confirmationPatience, deadline)))
      guard case .failure(let error) = answer else { return answer }
      switch error.kind {
      // A store that answers, if only with a refusal, is worth the rest of the time; unless it has
      // been asked as often as it may.
      case .throttled, .serverFailure:
        guard options.retryCountMax == nil else { return answer }
      default: return answer
      }
    }
    return await ask(context(deadline))
  }

  private func context(_ deadline: Instant) -> RequestContext {
    RequestContext(deadline: deadline, retryCountMax: options.retryCountMax)
  }
}

extension StoreError {
  /// True if the store could not be asked at all, so that older knowledge is the best there is.
  var isOutage: Bool { kind == .unreachable || kind == .timedOut }
}
