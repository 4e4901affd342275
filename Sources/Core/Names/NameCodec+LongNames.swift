/// Spells components that are too long for a name as names in directories of their own.
///
/// The percent spelling of the component is cut into pieces of at most 240 bytes, never inside a
/// character or a `%XX`, each as large as it can be. Each piece but the last is the name of a
/// directory, `%dipper-long%` and the piece; the last is the name of the file or directory, behind
/// the prefix that it would have otherwise. So a name depends on its key alone.
///
/// Such a directory is one whose keys begin with a prefix that ends inside a component: what the
/// prefix has behind its last slash is called the *head* here. Listing it lists that prefix; what is
/// found that isn't too long, or is cut elsewhere, has its name elsewhere.
extension NameCodec {
  /// Where a child has its name.
  package enum Placement: Hashable, Sendable {
    /// In the directory itself.
    case here(FileName)
    /// In the directory of this child, a piece with a `/` at its end.
    case below(Child)
    /// Not in this directory.
    case elsewhere
  }

  /// 240: the longest prefix has 15 bytes.
  static let pieceLengthMax = nameLengthMax - objectPrefix.count

  /// A character takes at most four bytes, so a piece that others follow isn't shorter.
  private static let fullPieceLengthMin = pieceLengthMax - 3

  /// Returns what a directory's prefix has behind its last slash: nothing, but for a directory of long
  /// components.
  package static func head(of prefix: ObjectKey) -> ArraySlice<UInt8> {
    let bytes = prefix.bytes
    return bytes[(bytes.lastIndex(of: slash).map { $0 + 1 } ?? 0)...]
  }

  /// Returns where `child` of a directory with this head has its name.
  package static func placement(
    of child: Child,
    behind head: ArraySlice<UInt8> = []
  ) -> Placement {
    if let piece = child.piece { return .here(name(ofPiece: piece)) }
    if head.isEmpty, let name = shortName(of: child) { return .here(name) }
    let whole = head + child.component
    guard
      head.isEmpty
        || shortName(
          of: Child(component: whole, isShadowedObject: child.isShadowedObject)
        ) == nil
    else { return .elsewhere }
    guard let next = nextPiece(of: whole, behind: head.count) else { return .elsewhere }
    if next.isLast {
      let prefix = child.isShadowedObject ? objectPrefix : escapePrefix
      return .here(FileName(prefix + next.spelling))
    }
    return .below(Child(component: next.bytes + [slash]))
  }

  /// Returns the name that `child` has in a directory with this head; nil if it has it elsewhere.
  package static func name(of child: Child, behind head: ArraySlice<UInt8> = []) -> FileName? {
    guard case .here(let name) = placement(of: child, behind: head) else { return nil }
    return name
  }

  /// Returns what `name` means in a directory with this head, or nil if no child has that name.
  package static func child(
    named name: FileName,
    behind head: ArraySlice<UInt8> = []
  ) -> Child? {
    guard name.bytes.count <= nameLengthMax else { return nil }
    if let piece = name.bytes.dropping(prefix: longPrefix) {
      guard fullPieceLengthMin...pieceLengthMax ~= piece.count,
        let bytes = percentDecoded(piece),
        // What begins with both has its next cut here.
        nextPiece(of: head + bytes, behind: head.count)?.spelling == Array(piece)
      else { return nil }
      return Child(component: bytes + [slash])
    }
    if head.isEmpty { return shortChild(named: name) }
    let child: Child
    if let piece = name.bytes.dropping(prefix: objectPrefix) {
      guard let bytes = percentDecoded(piece) else { return nil }
      child = Child(component: bytes, isShadowedObject: true)
    } else {
      guard let piece = name.bytes.dropping(prefix: escapePrefix),
        let bytes = percentDecoded(piece)
      else { return nil }
      child = Child(component: bytes)
    }
    return placement(of: child, behind: head) == .here(name) ? child : nil
  }

  private static func name(ofPiece piece: ArraySlice<UInt8>) -> FileName {
    var rest = piece
    var bytes = longPrefix
    while let token = takeToken(&rest) { bytes += token.spelling }
    return FileName(bytes)
  }

  /// A piece of a component between two cuts.
  private struct Piece {
    var bytes: [UInt8] = []
    var spelling: [UInt8] = []
    var isLast = false
  }

  /// Returns the piece of `component` that begins behind its first `offset` bytes; nil if none does.
  private static func nextPiece(of component: ArraySlice<UInt8>, behind offset: Int) -> Piece? {
    var rest = component
    var position = 0
    while position <= offset, !rest.isEmpty {
      let piece = takePiece(&rest)
      if position == offset { return piece }
      position += piece.bytes.count
    }
    return nil
  }

  private static func takePiece(_ rest: inout ArraySlice<UInt8>) -> Piece {
    var piece = Piece()
    var ahead = rest
    while let token = takeToken(&ahead) {
      guard piece.spelling.count + token.spelling.count <= pieceLengthMax else { return piece }
      piece.bytes += token.bytes
      piece.spelling += token.spelling
      rest = ahead
    }
    piece.isLast = true
    return piece
  }
}

extension NameCodec.Child {
  /// The piece that begins the components of this directory, for a directory of long components.
  package var piece: ArraySlice<UInt8>? {
    component.last == NameCodec.slash ? component.dropLast() : nil
  }
}
