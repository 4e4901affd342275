import Core
import FoundationEssentials
import StoreWire
import Testing

/// One request of the vendors' signers, as recorded in Fixtures.
struct SignatureVector: Decodable, CustomTestStringConvertible {
  let name: String
  let method: String
  let url: String
  let headers: [String: String]
  let canonical: String
  let sts: String
  let signature: String

  var testDescription: String { name }

  /// Reads a file of vectors.
  static func all(in file: String) throws -> [SignatureVector] {
    let directory = URL(filePath: #filePath).deletingLastPathComponent()
    let url = directory.appending(path: "Fixtures/\(file)")
    return try JSONDecoder().decode([SignatureVector].self, from: Data(contentsOf: url))
  }

  /// The credentials of all vectors, with this one's token.
  var credentials: Credentials {
    Credentials(
      accessKey: "AKTESTEXAMPLE",
      secretKey: "SKTESTEXAMPLE",
      sessionToken: header("-security-token")
    )
  }

  /// The time of all vectors.
  static let time = CalendarTime(year: 2026, month: 3, day: 14, hour: 9, minute: 26, second: 53)
    .timestamp

  /// The request and its target, rebuilt from the recorded URL by way of an endpoint and a bucket.
  func request() throws -> (request: WireRequest, target: RequestTarget) {
    let pieces = url.split(separator: "?", maxSplits: 1).map(String.init)
    let separator = try #require(pieces[0].firstRange(of: "://"))
    let rest = pieces[0][separator.upperBound...]
    let slash = try #require(rest.firstIndex(of: "/"))
    var host = String(rest[..<slash])
    var path = String(rest[slash...])
    let bucket = "examplebucket"
    if host.hasPrefix(bucket + ".") {
      host.removeFirst(bucket.count + 1)
    } else {
      path.removeFirst(bucket.count + 1)
    }
    let endpoint = try Endpoint(String(pieces[0][..<separator.upperBound]) + host)
    var request = WireRequest(.getObject, try #require(WireRequest.Method(rawValue: method)))
    request.path = path
    request.query = try (pieces.count > 1 ? pieces[1] : "").split(separator: "&").map { item in
      let words = try item.split(separator: "=", maxSplits: 1).map {
        try #require(PercentEncoding.decodeForm($0.utf8))
      }
      return WireRequest.QueryItem(
        String(decoding: words[0], as: UTF8.self),
        bytes: words.count > 1 ? words[1] : []
      )
    }.filter { !$0.name.hasPrefix("X-Tos-") }
    for (name, value) in headers where !isAddedBySigning(name) {
      request.fields.append(name, value)
    }
    request.bodyHash = bodyHash
    return (request, endpoint.target(of: request, bucket: bucket))
  }

  private var bodyHash: WireRequest.BodyHash {
    switch header("-content-sha256") {
    case nil: .undeclared
    case "UNSIGNED-PAYLOAD": .unsigned
    case WireRequest.BodyHash.emptyHash: .empty
    case let hash?: .sha256(hash)
    }
  }

  /// The value of the dialect's own header with this end.
  private func header(_ end: String) -> String? {
    headers.first { $0.key.lowercased().hasSuffix(end) }?.value
  }

  private func isAddedBySigning(_ name: String) -> Bool {
    let name = name.lowercased()
    return ["authorization", "host", "date"].contains(name)
      || ["-date", "-content-sha256", "-security-token"].contains { name.hasSuffix($0) }
  }
}

extension WireRequest.BodyHash {
  /// SHA-256 of no bytes.
  fileprivate static let emptyHash =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
}
