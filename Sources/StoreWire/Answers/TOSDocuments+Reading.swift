/// What CopyObject, UploadPartCopy and CompleteMultipartUpload answer.
struct TOSCopy: Decodable {
  var etag: String?
  var lastModified: String?

  enum CodingKeys: String, CodingKey {
    case etag = "ETag"
    case lastModified = "LastModified"
  }
}

/// What CreateMultipartUpload answers.
struct TOSCreatedUpload: Decodable {
  private var id: String?
  private var upperID: String?

  /// The id, in either of the spellings that clients of TOS know.
  var uploadID: String? { id ?? upperID }

  private enum CodingKeys: String, CodingKey {
    case id = "UploadId"
    case upperID = "UploadID"
  }
}

/// A page of ListParts.
struct TOSPartsDocument: Decodable {
  struct Part: Decodable {
    var number: Int
    var etag: String?
    var size: LooseNumber?
    var crc64: LooseNumber?

    enum CodingKeys: String, CodingKey {
      case number = "PartNumber"
      case etag = "ETag"
      case size = "Size"
      case crc64 = "HashCrc64ecma"
    }
  }

  var parts: [Part]?
  var isTruncated: Bool?
  var nextMarker: Int?

  enum CodingKeys: String, CodingKey {
    case parts = "Parts"
    case isTruncated = "IsTruncated"
    case nextMarker = "NextPartNumberMarker"
  }
}

/// A page of ListMultipartUploads.
struct TOSUploadsDocument: Decodable {
  struct Upload: Decodable {
    var key: String?
    private var id: String?
    private var upperID: String?
    var initiated: String?

    /// The id, in either of the spellings that clients of TOS know.
    var uploadID: String? { id ?? upperID }

    private enum CodingKeys: String, CodingKey {
      case key = "Key"
      case id = "UploadId"
      case upperID = "UploadID"
      case initiated = "Initiated"
    }
  }

  var uploads: [Lenient<Upload>]?
  var encoding: String?
  var isTruncated: Bool?
  var nextKeyMarker: String?
  var nextUploadIDMarker: String?

  enum CodingKeys: String, CodingKey {
    case uploads = "Uploads"
    case encoding = "EncodingType"
    case isTruncated = "IsTruncated"
    case nextKeyMarker = "NextKeyMarker"
    case nextUploadIDMarker = "NextUploadIdMarker"
  }
}

/// What DeleteMultiObjects answers; the list of errors has a singular name.
struct TOSDeletionDocument: Decodable {
  struct Entry: Decodable {
    var key: String?
    var error: TOSErrorDocument

    private enum CodingKeys: String, CodingKey {
      case key = "Key"
    }

    init(from decoder: any Decoder) throws {
      key = try decoder.container(keyedBy: CodingKeys.self).decodeIfPresent(
        String.self,
        forKey: .key
      )
      error = try TOSErrorDocument(from: decoder)
    }
  }

  var errors: [Entry]?

  enum CodingKeys: String, CodingKey {
    case errors = "Error"
  }
}

/// What GetObjectTagging answers.
struct TOSTagsDocument: Decodable {
  struct TagSet: Decodable {
    var tags: [Tag]?

    enum CodingKeys: String, CodingKey {
      case tags = "Tags"
    }
  }

  struct Tag: Decodable {
    var name: String
    var value: String?

    enum CodingKeys: String, CodingKey {
      case name = "Key"
      case value = "Value"
    }
  }

  var set: TagSet?

  enum CodingKeys: String, CodingKey {
    case set = "TagSet"
  }
}

/// What GetFileStatus answers.
struct TOSFileStatus: Decodable {
  var key: String?
  var size: LooseNumber?
  var lastModified: String?
  var etag: String?
  var crc64: LooseNumber?

  enum CodingKeys: String, CodingKey {
    case key = "Key"
    case size = "Size"
    case lastModified = "LastModified"
    case etag = "ETag"
    case crc64 = "CRC64"
  }
}
