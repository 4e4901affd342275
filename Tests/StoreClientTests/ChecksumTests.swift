import Core
import HTTP
import StoreClient
import StoreWire
import Support
import Testing

/// Checksums that go along with bodies, and stores that don't know them.
@Suite struct ChecksumTests {
  private let body = BodySource.bytes(Array("123456789".utf8))
  private let request = PutRequest(key: ObjectKey("k"))
  private static let field = "x-amz-checksum-crc64nvme"
  private static let refusal = ScriptedAnswer.answer(
    400,
    text:
      "<Error><Code>InvalidArgument</Code><Message>unsupported checksum algorithm</Message></Error>"
  )

  private func settings(_ checksum: ChecksumChoice) throws -> StoreSettings {
    var settings = StoreSettings(
      endpoint: try Endpoint("http://127.0.0.1:9000"),
      region: "us-east-1"
    )
    settings.checksum = checksum
    settings.protection.acl = "public-read"
    settings.protection.encryption = .storeKeys
    return settings
  }

  private func put(_ bench: Bench) async throws(StoreError) {
    _ = try await bench.store.put(request, body: body, context: bench.context(retries: 0))
  }

  @Test func aBodyGoesWithItsChecksumAndItsProtection() async throws {
    let bench = try Bench(
      [.answer(200, ["ETag": "\"e\""])],
      settings: settings(.always(.crc64nvme))
    )
    try await put(bench)
    #expect(bench.client.requests[0].fields[Self.field] == "rosUhgp5mIg=")
    #expect(bench.client.requests[0].fields["x-amz-acl"] == "public-read")
    #expect(bench.client.requests[0].fields["x-amz-server-side-encryption"] == "AES256")
  }

  @Test func withoutAChoiceAnUnknownStoreGetsNone() async throws {
    let bench = try Bench([.answer(200, ["ETag": "\"e\""])], settings: settings(.automatic))
    try await put(bench)
    let names = bench.client.requests[0].fields.fields.map(\.name)
    #expect(!names.contains { $0.lowercased().contains("checksum") })
  }

  @Test(arguments: [refusal, .answer(501)])
  func aStoreThatRefusesTheFieldHasTheBodyWithoutIt(_ refusal: ScriptedAnswer) async throws {
    let bench = try Bench(
      [refusal, .answer(200, ["ETag": "\"e\""])],
      settings: settings(.always(.crc64nvme))
    )
    try await put(bench)
    try await put(bench)
    let sent = bench.client.requests.map { $0.fields[Self.field] != nil }
    #expect(sent == [true, false, false])
  }

  @Test func aRefusalForAnotherReasonForgetsNothing() async throws {
    let bench = try Bench(
      [.answer(501), .answer(501), .answer(200, ["ETag": "\"e\""])],
      settings: settings(.always(.crc64nvme))
    )
    let error = await Bench.failure { () throws(StoreError) in try await put(bench) }
    #expect(error?.kind == .unsupported)
    try await put(bench)
    let sent = bench.client.requests.map { $0.fields[Self.field] != nil }
    #expect(sent == [true, false, true])
  }

  /// A condition that is taken for unknown is not sent any more, and somebody's object could be replaced.
  @Test func aRefusedChecksumSaysNothingOfConditions() async throws {
    let bench = try Bench(
      [.answer(501), .answer(200, ["ETag": "\"e\""])],
      settings: settings(.always(.crc64nvme))
    )
    var exclusive = request
    exclusive.condition = .ifAbsent
    _ = try await bench.store.put(exclusive, body: body, context: bench.context(retries: 0))
    #expect(bench.store.capabilities.hasConditionalCreate != false)
    #expect(bench.client.requests.allSatisfy { $0.fields["If-None-Match"] == "*" })
  }

  @Test func aBodyThatArrivedDamagedIsNoBadRequest() async throws {
    let bench = try Bench([.error(400, "BadDigest")], settings: settings(.always(.crc64nvme)))
    let error = await Bench.failure { () throws(StoreError) in try await put(bench) }
    #expect(error?.kind == .invalidAnswer)
    #expect(error?.code == "BadDigest")
  }

  @Test func anUploadThatIsRefusedItsChecksumBeginsWithoutOne() async throws {
    let created = ScriptedAnswer.answer(
      200,
      text:
        "<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>"
    )
    let bench = try Bench(
      [Self.refusal, created, .answer(200, ["ETag": "\"p\""])],
      settings: settings(.always(.crc32c))
    )
    let context = bench.context(retries: 0)
    let id = try await bench.store.createMultipartUpload(request, context: context)
    _ = try await bench.store.uploadPart(
      UploadReference(key: request.key, uploadID: id),
      partNumber: 1,
      body: body,
      context: context
    )
    let requests = bench.client.requests
    #expect(requests[0].fields["x-amz-checksum-algorithm"] == "CRC32C")
    #expect(requests[1].fields["x-amz-checksum-algorithm"] == nil)
    #expect(requests[2].fields["x-amz-checksum-crc32c"] == nil)
    #expect(requests.map { $0.fields["x-amz-acl"] } == ["public-read", "public-read", nil])
  }
}
