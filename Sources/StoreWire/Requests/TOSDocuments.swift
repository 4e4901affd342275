internal import Core
internal import FoundationEssentials

/// The parts that CompleteMultipartUpload names.
struct TOSPartList: Encodable {
  struct Part: Encodable {
    let number: Int
    /// Without quotes.
    let etag: String

    enum CodingKeys: String, CodingKey {
      case number = "PartNumber"
      case etag = "ETag"
    }
  }

  let parts: [Part]

  enum CodingKeys: String, CodingKey {
    case parts = "Parts"
  }
}

/// The keys that DeleteMultiObjects removes.
struct TOSKeyList: Encodable {
  struct Entry: Encodable {
    let key: String

    enum CodingKeys: String, CodingKey {
      case key = "Key"
    }
  }

  let objects: [Entry]
  /// True to be told only what could not be removed.
  let isQuiet = true

  enum CodingKeys: String, CodingKey {
    case objects = "Objects"
    case isQuiet = "Quiet"
  }
}

/// For how long RestoreObject makes an object readable, and how soon.
struct TOSRestoration: Encodable {
  struct Job: Encodable {
    let tier: String

    enum CodingKeys: String, CodingKey {
      case tier = "Tier"
    }
  }

  let days: Int
  let job: Job

  init(days: Int, tier: String) {
    self.days = days
    job = Job(tier: tier)
  }

  enum CodingKeys: String, CodingKey {
    case days = "Days"
    case job = "RestoreJobParameters"
  }
}

extension WireRequest {
  /// Makes `document` the request's body.
  mutating func attach(_ document: some Encodable) throws(StoreError) {
    let encoder = JSONEncoder()
    // A document has one spelling, so that its signature can be tested.
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    do {
      self.document = Array(try encoder.encode(document))
    } catch {
      throw .unsendable(operation, key, "its document can't be written")
    }
    fields["Content-Type"] = "application/json"
    bodyHash = .unsigned
  }
}
