/// Spells the components of keys as file names, and reads them back.
///
/// A directory's children are what follows its prefix in a key: an object's component or, before
/// another `/`, a directory's. Nearly every component is its own name. The few that a file system
/// can't show get an escape prefix and a percent spelling; `docs/names.md` has the table. Reading
/// accepts only what spelling writes, so no two names lead to one key.
///
/// A spelling that is longer than a name may be is cut, and a digest tells which it was:
/// `NameCodec+LongNames.swift`.
package enum NameCodec {
  /// What a name means inside its directory.
  package struct Child: Hashable, Sendable {
    /// The key's bytes behind the directory's prefix, without a `/`; empty for the directory `//`
    /// and for the object at the directory's own key.
    package var component: [UInt8]
    /// True for an object whose plain name belongs to a directory beside it.
    package var isShadowedObject: Bool

    /// Creates a child.
    package init(component: some Sequence<UInt8>, isShadowedObject: Bool = false) {
      self.component = Array(component)
      self.isShadowedObject = isShadowedObject
    }
  }

  /// Begins the spelling of a component that can't be its own name.
  package static let escapePrefix = Array("%dipper%".utf8)
  /// Begins the spelling of an object that a directory takes the plain name from.
  package static let objectPrefix = Array("%dipper-object%".utf8)
  /// Begins the name of a component that is too long to be one.
  package static let longPrefix = Array("%dipper-long%".utf8)
  /// Linux's `NAME_MAX`.
  package static let nameLengthMax = 255

  /// Returns the one name of `child`, or nil if its spelling is longer than a name may be.
  package static func name(of child: Child) -> FileName? {
    let component = child.component
    precondition(!component.contains(slash), "a component has no slash")
    let bytes: [UInt8]
    if child.isShadowedObject {
      bytes = objectPrefix + percentSpelling(of: component)
    } else if isPlain(component) {
      bytes = component
    } else {
      bytes = escapePrefix + percentSpelling(of: component)
    }
    return bytes.count <= nameLengthMax ? FileName(bytes) : nil
  }

  /// Returns the child that `name` spells as a whole, or nil if it spells none.
  package static func child(named name: FileName) -> Child? {
    guard name.bytes.count <= nameLengthMax else { return nil }
    if let rest = name.bytes.dropping(prefix: objectPrefix) {
      guard let component = percentDecoded(rest) else { return nil }
      return Child(component: component, isShadowedObject: true)
    }
    if let rest = name.bytes.dropping(prefix: escapePrefix) {
      guard let component = percentDecoded(rest), !isPlain(component) else { return nil }
      return Child(component: component)
    }
    guard isPlain(name.bytes) else { return nil }
    return Child(component: name.bytes)
  }

  /// Returns true if a component is its own name.
  package static func isPlain(_ component: some Collection<UInt8>) -> Bool {
    guard let first = component.first else { return false }
    if first == dot, component.count <= 2, component.allSatisfy({ $0 == dot }) { return false }
    if first == percent, component.starts(with: escapePrefix) { return false }
    if first == percent, component.starts(with: objectPrefix) { return false }
    if first == percent, component.starts(with: longPrefix) { return false }
    if component.allSatisfy({ 0x20...0x7E ~= $0 && $0 != slash }) { return true }
    return component.allScalars { scalar in !scalar.isControl && scalar != "/" }
  }

  /// Spells every byte that is `%`, a control character or not UTF-8 as `%XX`.
  private static func percentSpelling(of component: [UInt8]) -> [UInt8] {
    var spelling: [UInt8] = []
    var rest = component[...]
    while let token = takeToken(&rest) { spelling += token.spelling }
    return spelling
  }

  /// Takes the first character off, or the first byte if that is none, and returns it with its
  /// spelling; nil at the end.
  static func takeToken(
    _ rest: inout ArraySlice<UInt8>
  ) -> (bytes: ArraySlice<UInt8>, spelling: ArraySlice<UInt8>)? {
    guard let first = rest.first else { return nil }
    if let (scalar, width) = rest.leadingScalar, !scalar.isControl, scalar != "%" {
      let bytes = rest.prefix(width)
      rest = rest.dropFirst(width)
      return (bytes, bytes)
    }
    let bytes = rest.prefix(1)
    rest = rest.dropFirst()
    return (bytes, [percent, hexDigits[Int(first >> 4)], hexDigits[Int(first & 0xF)]])
  }

  /// Returns the component that is spelled so, or nil if none is.
  static func percentDecoded(_ spelling: ArraySlice<UInt8>) -> [UInt8]? {
    var component: [UInt8] = []
    var rest = spelling
    while let first = rest.popFirst() {
      guard first == percent else {
        component.append(first)
        continue
      }
      guard
        let high = rest.popFirst().flatMap({ hexDigits.firstIndex(of: $0) }),
        let low = rest.popFirst().flatMap({ hexDigits.firstIndex(of: $0) })
      else { return nil }
      component.append(UInt8(high << 4 | low))
    }
    // Two spellings of one component would be two names for one key.
    guard !component.contains(slash), percentSpelling(of: component)[...] == spelling else {
      return nil
    }
    return component
  }

  private static let slash = UInt8(ascii: "/")
  private static let dot = UInt8(ascii: ".")
  private static let percent = UInt8(ascii: "%")
  private static let hexDigits = Array("0123456789ABCDEF".utf8)
}

extension [UInt8] {
  /// The bytes behind `prefix`, or nil if they don't start with it.
  func dropping(prefix: [UInt8]) -> ArraySlice<UInt8>? {
    starts(with: prefix) ? self[prefix.count...] : nil
  }
}

extension Unicode.Scalar {
  /// True for the control characters of ASCII and Latin-1, which a terminal acts on.
  fileprivate var isControl: Bool { value < 0x20 || 0x7F...0x9F ~= value }
}

extension Collection<UInt8> {
  /// Returns true if the bytes are UTF-8 and every scalar is as asked.
  fileprivate func allScalars(_ predicate: (Unicode.Scalar) -> Bool) -> Bool {
    var rest = Array(self)[...]
    while !rest.isEmpty {
      guard let (scalar, width) = rest.leadingScalar, predicate(scalar) else { return false }
      rest = rest.dropFirst(width)
    }
    return true
  }
}

extension ArraySlice<UInt8> {
  /// The first scalar and the bytes it takes, or nil if the bytes don't start with valid UTF-8.
  fileprivate var leadingScalar: (Unicode.Scalar, width: Int)? {
    guard let first else { return nil }
    let width: Int
    let bits: UInt32
    // Source: RFC 3629, section 4; the scalar's initialiser refuses surrogates and what lies
    // beyond U+10FFFF, the check below refuses overlong forms.
    switch first {
    case ..<0x80: (width, bits) = (1, UInt32(first))
    case 0xC2...0xDF: (width, bits) = (2, UInt32(first & 0x1F))
    case 0xE0...0xEF: (width, bits) = (3, UInt32(first & 0x0F))
    case 0xF0...0xF4: (width, bits) = (4, UInt32(first & 0x07))
    default: return nil
    }
    guard count >= width else { return nil }
    var value = bits
    for byte in dropFirst().prefix(width - 1) {
      guard byte & 0xC0 == 0x80 else { return nil }
      value = value << 6 | UInt32(byte & 0x3F)
    }
    let isOverlong = (width == 3 && value < 0x800) || (width == 4 && value < 0x1_0000)
    guard !isOverlong, let scalar = Unicode.Scalar(value) else { return nil }
    return (scalar, width)
  }
}
