import Core
import Simulation
import Support

/// A store whose listings are a script, for answers that no good store gives; objects are absent.
final class ScriptedListings: ObjectStore {
  private let page: @Sendable (Int) -> ListPage
  private let askedCount = Lock(0)
  private let inner = SimulatedStore()

  /// Answers with these pages in turn, whatever is asked; with the last again and again if
  /// `repeatsLast`, else with empty ones.
  init(_ pages: [ListPage], repeatsLast: Bool = false) {
    page = { number in
      if number < pages.count { return pages[number] }
      let none = ListPage(objects: [], commonPrefixes: [], nextToken: nil)
      return repeatsLast ? pages.last ?? none : none
    }
  }

  /// Answers with `page` of 0, of 1 and so on, whatever is asked.
  init(_ page: @escaping @Sendable (Int) -> ListPage) { self.page = page }

  /// The number of pages that were asked for.
  var pageCount: Int { askedCount.withLock { $0 } }

  var name: String { inner.name }
  var capabilities: StoreCapabilities { inner.capabilities }

  func list(_ request: ListRequest, context: RequestContext) async throws(StoreError) -> ListPage {
    page(
      askedCount.withLock { count in
        count += 1
        return count - 1
      }
    )
  }

  func head(
    _ key: ObjectKey,
    versionID: String?,
    conditions: ReadConditions,
    context: RequestContext
  ) async throws(StoreError) -> ObjectMetadata {
    throw StoreError(.notFound, .headObject, key: key, message: "there is none")
  }

  func get(
    _ request: GetRequest,
    into sink: any BodySink,
    context: RequestContext
  ) async throws(StoreError) -> GetAnswer {
    try await inner.get(request, into: sink, context: context)
  }

  func probe(context: RequestContext) async throws(StoreError) {}

  func put(
    _ request: PutRequest,
    body: BodySource,
    context: RequestContext
  ) async throws(StoreError) -> ObjectMetadata {
    try await inner.put(request, body: body, context: context)
  }

  func delete(_ key: ObjectKey, ifMatch: ETag?, context: RequestContext) async throws(StoreError) {}

  func copy(
    _ request: CopyRequest,
    context: RequestContext
  ) async throws(StoreError) -> ObjectMetadata {
    try await inner.copy(request, context: context)
  }

  func createMultipartUpload(
    _ request: PutRequest,
    context: RequestContext
  ) async throws(StoreError) -> String {
    try await inner.createMultipartUpload(request, context: context)
  }

  func uploadPart(
    _ upload: UploadReference,
    partNumber: Int,
    body: BodySource,
    context: RequestContext
  ) async throws(StoreError) -> UploadedPart {
    try await inner.uploadPart(upload, partNumber: partNumber, body: body, context: context)
  }

  func uploadPartCopy(
    _ upload: UploadReference,
    partNumber: Int,
    source: CopySource,
    range: ByteRange,
    context: RequestContext
  ) async throws(StoreError) -> UploadedPart {
    try await inner.uploadPartCopy(
      upload,
      partNumber: partNumber,
      source: source,
      range: range,
      context: context
    )
  }

  func completeMultipartUpload(
    _ upload: UploadReference,
    parts: [UploadedPart],
    condition: WriteCondition,
    context: RequestContext
  ) async throws(StoreError) -> CompletedUpload {
    try await inner.completeMultipartUpload(
      upload,
      parts: parts,
      condition: condition,
      context: context
    )
  }

  func abortMultipartUpload(
    _ upload: UploadReference,
    context: RequestContext
  ) async throws(StoreError) {}

  func listParts(
    _ upload: UploadReference,
    context: RequestContext
  ) async throws(StoreError) -> [UploadedPart] { [] }

  func listMultipartUploads(
    prefix: ObjectKey,
    context: RequestContext
  ) async throws(StoreError) -> [UnfinishedUpload] { [] }

  func delete(
    _ keys: [ObjectKey],
    context: RequestContext
  ) async throws(StoreError) -> [ObjectKey: StoreError] { [:] }

  func tags(
    of key: ObjectKey,
    versionID: String?,
    context: RequestContext
  ) async throws(StoreError) -> [String: String] { [:] }
}
