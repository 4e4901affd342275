internal import FoundationEssentials

/// A JSON document of an answer, read with distrust.
///
/// Bytes that are no UTF-8 don't spoil the whole document: they are replaced, and `isRepaired` says
/// so, because a key with a replacement in it is not the key that the store has. FoundationEssentials,
/// which the program has anyway, bounds the nesting itself (512).
struct JSONDocument<Value: Decodable> {
  /// What was read.
  let value: Value
  /// True if some of it was no UTF-8 and was replaced by U+FFFD.
  let isRepaired: Bool

  /// Reads a document.
  ///
  /// - Throws: `JSONError` if it is not JSON to its end, or not the JSON of a `Value`.
  init(_ bytes: [UInt8], as type: Value.Type = Value.self) throws(JSONError) {
    guard bytes.count <= WireAnswer.documentSizeMax else {
      throw JSONError("it is larger than \(WireAnswer.documentSizeMax) bytes")
    }
    // Stores send white space while they work.
    let start = bytes.drop { $0 == 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }
    guard let first = start.first else { throw JSONError("it is empty") }
    // UTF-16 and UTF-32 have zero bytes; JSON in UTF-8 can't.
    guard first == UInt8(ascii: "{"), !start.contains(0) else {
      throw JSONError("it is not a JSON object in UTF-8")
    }
    isRepaired = String(validating: start, as: UTF8.self) == nil
    let data =
      isRepaired ? Data(String(decoding: start, as: UTF8.self).utf8) : Data(start)
    do {
      value = try JSONDecoder().decode(Value.self, from: data)
    } catch let error as DecodingError {
      throw JSONError(error.clause)
    } catch {
      throw JSONError("it is not JSON")
    }
  }
}

/// Why a document can't be read.
struct JSONError: Error, Hashable, CustomStringConvertible {
  /// A clause whose subject is the document.
  let description: String

  init(_ description: String) {
    self.description = description
  }
}

extension DecodingError {
  /// What is wrong, without anything of the document but the names that we look for.
  fileprivate var clause: String {
    let (problem, path): (String, [any CodingKey]) =
      switch self {
      case .keyNotFound(let key, let context):
        ("has no \(key.stringValue)", context.codingPath)
      case .typeMismatch(_, let context), .valueNotFound(_, let context):
        ("has something else", context.codingPath)
      case .dataCorrupted(let context): ("is not JSON", context.codingPath)
      @unknown default: ("can't be read", [])
      }
    let place = path.map(\.stringValue).joined(separator: ".")
    return place.isEmpty ? "it \(problem)" : "it \(problem) at \(place)"
  }
}

/// A value of which one odd field must not spoil its neighbours: nil if it can't be read.
struct Lenient<Value: Decodable>: Decodable {
  let value: Value?

  init(from decoder: any Decoder) throws {
    value = try? Value(from: decoder)
  }
}

/// A whole number that some write as a number and some as text.
struct LooseNumber: Decodable {
  let value: UInt64?

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let number = try? container.decode(UInt64.self) {
      value = number
    } else {
      value = (try? container.decode(String.self)).flatMap { UInt64($0) }
    }
  }
}
