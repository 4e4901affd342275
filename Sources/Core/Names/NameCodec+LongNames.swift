/// Names components whose spelling is longer than a name may be.
///
/// Such a name has three parts behind its prefix: as much of the component's percent spelling as
/// there is room for, never cut inside a character or a `%XX`; `%-`, which no spelling has; and the
/// digest of the whole component. It depends on the component alone. The other way round it tells
/// how the component begins and how to recognise it among others: `LongName`.
extension NameCodec {
  /// A name that shows only the beginning of a component.
  package struct LongName: Hashable, Sendable {
    /// The name itself.
    package let name: FileName
    /// The bytes that the component begins with.
    package let head: [UInt8]
    /// True for an object whose plain name belongs to a directory beside it.
    package let isShadowedObject: Bool

    /// The digits of the component's digest.
    package var digits: ArraySlice<UInt8> { name.bytes.suffix(NameDigest.digitCount) }

    /// Returns true if it is the name of this component.
    package func isName(of component: ArraySlice<UInt8>, _ digest: NameDigest) -> Bool {
      guard component.starts(with: head) else { return false }
      return NameCodec.name(of: child(Array(component)), digest) == name
    }

    /// The child that it names if `component` is the one.
    package func child(_ component: [UInt8]) -> Child {
      Child(component: component, isShadowedObject: isShadowedObject)
    }
  }

  /// What a name means inside its directory.
  package enum Meaning: Hashable, Sendable {
    /// This child.
    case child(Child)
    /// The child with a component that begins so and has this digest.
    case long(LongName)
  }

  private static let separator = Array("%-".utf8)

  /// A character takes at most four bytes, so a head that something follows isn't shorter than the
  /// room for it by more than three.
  private static let slack = 3

  /// Returns the one name of `child`.
  package static func name(of child: Child, _ digest: NameDigest) -> FileName {
    if let name = name(of: child) { return name }
    let prefix = prefix(isShadowedObject: child.isShadowedObject)
    let room = room(behind: prefix)
    var bytes = prefix
    var rest = child.component[...]
    while let token = takeToken(&rest), bytes.count - prefix.count + token.spelling.count <= room {
      bytes += token.spelling
    }
    return FileName(bytes + separator + digest.digits(of: child.component))
  }

  /// Returns what `name` means, or nil if no child can have that name.
  package static func meaning(of name: FileName) -> Meaning? {
    if let child = child(named: name) { return .child(child) }
    guard name.bytes.count <= nameLengthMax else { return nil }
    return [false, true].lazy.compactMap { longName(name, isShadowedObject: $0) }.first
      .map { .long($0) }
  }

  /// Returns true if a child with this component may have a name that shows only its beginning:
  /// as a directory or, where there is an object of that name too, as that.
  package static func mayBeLong(_ component: ArraySlice<UInt8>) -> Bool {
    // A byte's spelling takes three at most.
    guard component.count * 3 > nameLengthMax - objectPrefix.count else { return false }
    return name(of: Child(component: component, isShadowedObject: true)) == nil
  }

  private static func longName(_ name: FileName, isShadowedObject: Bool) -> LongName? {
    let prefix = prefix(isShadowedObject: isShadowedObject)
    guard let rest = name.bytes.dropping(prefix: prefix),
      NameDigest.isDigest(rest.suffix(NameDigest.digitCount))
    else { return nil }
    let spelling = rest.dropLast(NameDigest.digitCount)
    guard spelling.suffix(separator.count) == separator[...] else { return nil }
    let head = spelling.dropLast(separator.count)
    let room = room(behind: prefix)
    guard room - slack...room ~= head.count, let bytes = percentDecoded(head) else { return nil }
    return LongName(name: name, head: bytes, isShadowedObject: isShadowedObject)
  }

  private static func prefix(isShadowedObject: Bool) -> [UInt8] {
    isShadowedObject ? objectPrefix : longPrefix
  }

  private static func room(behind prefix: [UInt8]) -> Int {
    nameLengthMax - prefix.count - separator.count - NameDigest.digitCount
  }
}
