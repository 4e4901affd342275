internal import Core
package import Dipper
internal import StoreClient
internal import Support

extension StoreFacts {
  // Long enough for a slow handshake, short enough to wait for.
  private static let patience = Duration.seconds(15)
  private static let retryCountMax = 1

  /// Asks a bucket what a mount would ask: a listing, and the metadata and a byte of what it shows.
  package static func gather(_ bucket: Bucket) async -> StoreFacts {
    let store = bucket.store
    var facts = StoreFacts(bucket: bucket.url.bucketName, listing: .done)
    let remote = store as? RemoteStore
    if let remote { facts.credentials = await credentials(of: remote) }
    var sample: ObjectMetadata?
    do throws(StoreError) {
      // Some, since the first may be an empty directory marker.
      let request = ListRequest(
        prefix: ObjectKey(bucket.url.key),
        isDelimited: false,
        countMax: 100
      )
      let page = try await store.list(request, context: context)
      sample = page.objects.first { $0.size > 0 } ?? page.objects.first
    } catch {
      facts.listing = .failed(error)
    }
    if let sample {
      facts.head = await outcome { () async throws(StoreError) in
        _ = try await store.head(sample.key, versionID: nil, ifMatch: nil, context: context)
      }
      if sample.size > 0 {
        facts.get = await outcome { () async throws(StoreError) in
          let request = GetRequest(key: sample.key, range: ByteRange(0, 1), ifMatch: nil)
          _ = try await store.get(request, into: Nowhere(), context: context)
        }
      }
    }
    if let remote {
      let place = remote.whereabouts
      facts.endpoint = place.endpoint
      facts.isEncrypted = place.isEncrypted
      facts.region = place.region
      facts.clockLead = place.clockLead
    }
    return facts
  }

  private static var context: RequestContext {
    RequestContext(deadline: SystemClock().now + patience, retryCountMax: retryCountMax)
  }

  private static func outcome(
    _ body: () async throws(StoreError) -> Void
  ) async -> Outcome {
    do throws(StoreError) {
      try await body()
      return .done
    } catch {
      return .failed(error)
    }
  }

  private static func credentials(of store: RemoteStore) async -> Credentials {
    do throws(ConfigurationError) {
      let origin = try await store.credentialOrigin(by: SystemClock().now + patience)
      guard let accessKey = origin.accessKey else { return .anonymous }
      return .found(
        place: origin.place,
        accessKey: accessKey,
        expiry: origin.expiry,
        remarks: origin.remarks
      )
    } catch {
      return .missing(error.description)
    }
  }
}

/// Takes bytes that nobody wants.
private final class Nowhere: BodySink {
  func receive(_ bytes: RawSpan, at offset: Int) {}
}
