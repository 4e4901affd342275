package import Core
internal import LocalStore
internal import StoreClient
package import Support

/// How to reach a bucket; what isn't given is found as other tools find it.
public struct BucketOptions: Hashable, Sendable {
  /// The service's address, such as `http://127.0.0.1:9000`; nil leaves it to the environment, the
  /// configuration files and the region.
  public var endpoint: String?
  /// The signing region; nil leaves it to the environment and the configuration files, else the bucket
  /// is asked.
  public var region: String?
  /// True for `ENDPOINT/BUCKET/KEY`; nil means for IP addresses and localhost.
  public var usesPathStyle: Bool?
  /// True if the endpoint is a domain of the bucket's own, so that its name stands nowhere else.
  public var usesOwnDomain = false
  /// The profile of the shared configuration files, or at TOS of the vendor's tools.
  public var profile: String?
  /// True to send unsigned requests.
  public var isAnonymous = false
  /// The keys to sign with; nil leaves them to what other tools ask.
  ///
  /// That is the environment, configuration files and services. With keys given here, `profile` and
  /// `isAnonymous` say nothing about who asks.
  public var credentials: BucketCredentials?
  /// How many requests there may be at once.
  public var requestCountMax = 64
  /// Bytes of objects per second for all requests together; nil is no limit.
  public var rateMax: Int?
  /// The canned access control list of every object that is written, in the store's spelling; nil leaves it
  /// to the bucket.
  public var acl: String?
  /// How every object that is written is encrypted; nil leaves it to the bucket.
  public var encryption: ObjectEncryption?
  /// Which checksum goes along with what is uploaded.
  public var checksum = UploadChecksum.automatic

  /// Creates options of which none is given.
  public init() {}
}

/// A bucket: list it, read from it, download, copy and upload.
public final class Bucket: Sendable {
  /// Its address, with the key or prefix that was given.
  public let url: BucketURL
  /// The store behind it.
  package let store: any ObjectStore
  /// What tells this bucket from every other one, wherever it is.
  package let location: String
  /// What transfers into it must be gone on with, by the names that users know.
  let storageTask: [String: String]
  let metrics: Metrics
  let log: Log

  /// What tells the store that the bucket is in from others: it can copy between its own buckets alone.
  var service: String {
    url.scheme == .file ? location : "\(url.scheme)\(location.dropFirst(url.bucketName.count))"
  }

  /// Creates a bucket on a store.
  package init(
    _ url: BucketURL,
    store: any ObjectStore,
    location: String,
    storageTask: [String: String] = [:],
    metrics: Metrics = Metrics(),
    log: Log = Log()
  ) {
    self.url = url
    self.store = store
    self.location = location
    self.storageTask = storageTask
    self.metrics = metrics
    self.log = log
  }

  /// Finds out how to reach the bucket at an address such as `tos://my-bucket`; nothing is sent yet.
  ///
  /// - Parameters:
  ///   - url: the address; see `BucketURL`.
  ///   - options: how to reach it.
  /// - Returns: the bucket.
  /// - Throws: `DipperError` of kind `invalid` if the address, an option or the configuration can't be
  ///   used.
  public static func open(
    _ url: String,
    options: BucketOptions = BucketOptions()
  ) async throws(DipperError) -> Bucket {
    let named: BucketURL
    do throws(InvalidBucketURL) {
      named = try BucketURL(url, for: .bucket)
    } catch {
      throw DipperError(.invalid, error.description)
    }
    return try await open(named, options: options)
  }

  /// Finds out how to reach a bucket; nothing is sent yet.
  ///
  /// - Throws: `DipperError` of kind `invalid` if an option or the configuration can't be used.
  public static func open(
    _ url: BucketURL,
    options: BucketOptions = BucketOptions()
  ) async throws(DipperError) -> Bucket {
    try await open(
      url,
      options: options,
      environment: ProcessEnvironment.variables,
      metrics: Metrics(),
      log: Log()
    )
  }

  /// Finds out how to reach a bucket, counting and logging elsewhere.
  package static func open(
    _ url: BucketURL,
    options: BucketOptions,
    environment: [String: String],
    metrics: Metrics,
    log: Log
  ) async throws(DipperError) -> Bucket {
    switch url.scheme {
    case .file:
      let store = LocalStore(
        directory: url.bucket,
        rateMax: options.rateMax,
        metrics: metrics
      )
      return Bucket(url, store: store, location: store.name, metrics: metrics, log: log)
    case .s3:
      return try await remote(url, .s3, options, environment, metrics, log)
    case .tos:
      return try await remote(url, .tos, options, environment, metrics, log)
    }
  }

  private static func remote(
    _ url: BucketURL,
    _ dialect: StoreDialect,
    _ options: BucketOptions,
    _ environment: [String: String],
    _ metrics: Metrics,
    _ log: Log
  ) async throws(DipperError) -> Bucket {
    var stated = StoreOptions()
    stated.endpoint = options.endpoint
    stated.region = options.region
    stated.usesPathStyle = options.usesPathStyle
    stated.usesOwnDomain = options.usesOwnDomain
    stated.profile = options.profile
    stated.isAnonymous = options.isAnonymous
    stated.credentials = options.credentials?.core
    stated.protection.acl = options.acl
    stated.protection.encryption = options.encryption?.core
    stated.checksum = options.checksum.core
    do throws(StoreError) {
      let store = try await RemoteStore.system(
        bucket: url.bucket,
        dialect: dialect,
        options: stated,
        environment: environment,
        userAgent: "dipper/\(Release.version)",
        connectionCountMax: options.requestCountMax,
        rateMax: options.rateMax,
        metrics: metrics,
        log: log
      )
      return Bucket(
        url,
        store: store,
        location: store.location,
        storageTask: options.storageTask,
        metrics: metrics,
        log: log
      )
    } catch {
      throw DipperError(error.kind == .invalidRequest ? .invalid : .failed, error.message)
    }
  }
}

extension Bucket {
  /// Checks that the bucket exists and may be read.
  ///
  /// - Parameters:
  ///   - deadline: how long that may take.
  ///   - retryCountMax: how often it is tried again; nil leaves it to the deadline.
  /// - Throws: `DipperError` with the store's reason.
  public func probe(
    deadline: Duration = .seconds(60),
    retryCountMax: Int? = nil
  ) async throws(DipperError) {
    let context = RequestContext(
      deadline: SystemClock().now + deadline,
      retryCountMax: retryCountMax
    )
    do throws(StoreError) {
      try await store.probe(context: context)
    } catch {
      throw DipperError(error)
    }
  }
}
