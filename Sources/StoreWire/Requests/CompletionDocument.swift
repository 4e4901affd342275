internal import Core
internal import Crypto

/// The body of CompleteMultipartUpload: the parts by ascending number.
enum CompletionDocument {
  static func bytes(of parts: [UploadedPart]) -> [UInt8] {
    var text = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
    for part in parts.sorted(by: { $0.partNumber < $1.partNumber }) {
      text += "<Part><PartNumber>\(part.partNumber)</PartNumber>"
      text += "<ETag>\(part.etag.quoted.xmlText)</ETag></Part>"
    }
    return Array((text + "</CompleteMultipartUpload>").utf8)
  }
}

extension String {
  /// The text for the content of an element, without what XML can't carry at all.
  var xmlText: String {
    var result = ""
    for scalar in unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case _ where scalar.value < 0x20: continue
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}

extension WireRequest.BodyHash {
  /// The hash of a body that is at hand.
  package static func document(_ bytes: [UInt8]) -> WireRequest.BodyHash {
    bytes.isEmpty ? .empty : .sha256(SHA256.digest(of: bytes).hexadecimal)
  }
}
