package import Core

/// An answer as it came: status, header fields, and the body of those that are documents.
package struct WireAnswer: Hashable, Sendable {
  /// The status, such as 206.
  package var status: Int
  /// The header fields.
  package var fields: HeaderFields
  /// The body; empty for HEAD and for what streams into a sink.
  package var body: [UInt8]

  /// Creates an answer.
  package init(status: Int, fields: HeaderFields = HeaderFields(), body: [UInt8] = []) {
    self.status = status
    self.fields = fields
    self.body = body
  }

  /// True if the status says that it worked; a body may still hold an error.
  package var isSuccess: Bool { (200...299).contains(status) }

  /// The store's time, by which a clock that is off can be corrected.
  package var date: Timestamp? { fields["Date"].flatMap(WireDate.http) }

  /// No document of either protocol is larger; a body beyond that is garbage.
  ///
  /// A page of 1,000 keys of 1,024 bytes, all percent-encoded, takes 3.5 MB.
  package static let documentSizeMax = 16 << 20
}
