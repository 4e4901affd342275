/// The header fields of a request or an answer, in order; names compare without regard to case.
package struct HeaderFields: Hashable, Sendable {
  /// One field.
  package struct Field: Hashable, Sendable {
    /// The name as it was given.
    package var name: String
    /// The value without surrounding white space.
    package var value: String

    /// Creates a field.
    package init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  /// The fields in order.
  package private(set) var fields: [Field] = []

  /// Creates an empty list.
  package init() {}

  /// Creates a list of these fields.
  package init(_ fields: KeyValuePairs<String, String>) {
    for (name, value) in fields { append(name, value) }
  }

  /// The first value of `name`; setting it replaces every field of that name, nil removes them.
  package subscript(name: String) -> String? {
    get { fields.first { $0.name.equalsIgnoringASCIICase(name) }?.value }
    set {
      fields.removeAll { $0.name.equalsIgnoringASCIICase(name) }
      if let newValue { append(name, newValue) }
    }
  }

  /// Adds a field behind the others, even if there is one of that name.
  package mutating func append(_ name: String, _ value: String) {
    fields.append(Field(name: name, value: value))
  }
}

extension String {
  /// Returns true if both are the same but for the case of ASCII letters.
  package func equalsIgnoringASCIICase(_ other: String) -> Bool {
    utf8.elementsEqual(other.utf8) { $0.lowercasedASCII == $1.lowercasedASCII }
  }
}

extension UInt8 {
  /// The byte with `A` to `Z` made `a` to `z`.
  package var lowercasedASCII: UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
  }
}
