/// The targets and what each may import, read from Package.swift.
struct House {
  /// What each Swift target may import of this package.
  let imports: [String: Set<String>]
  /// The C modules.
  let fences: Set<String>

  /// Reads a manifest.
  init(manifest: String) {
    var imports: [String: Set<String>] = [:]
    let row = #/\b(?:row|tests)\(\s*"(\w+)",\s*\[([^\]]*)\]/#
    let executable = #/\.executableTarget\(\s*name:\s*"(\w+)",\s*dependencies:\s*\[([^\]]*)\]/#
    for match in manifest.matches(of: row) + manifest.matches(of: executable) {
      let names = match.output.2.matches(of: #/"(\w+)"/#).map { String($0.output.1) }
      imports[String(match.output.1)] = Set(names)
    }
    self.imports = imports
    let fence = #/(?:\bfence\("|\.systemLibrary\([^"]*")(\w+)"/#
    fences = Set(manifest.matches(of: fence).map { String($0.output.1) })
  }

  /// Modules of the toolchain and the system that a target may import besides.
  ///
  /// Core and StoreWire are pure: they have no clock, no random numbers and no disk.
  static func toolchainModules(for target: String) -> Set<String> {
    if target.hasSuffix("Tests") || target == "Simulation" {
      return ["Testing", "Glibc", "Foundation", "FoundationEssentials", "Synchronization"]
    }
    switch target {
    case "Core": return []
    // JSON, which is TOS's; reading it is as pure as reading XML.
    case "StoreWire": return ["FoundationEssentials"]
    case "Daemon", "DipperCommand": return ["Glibc", "FoundationEssentials"]
    // JSON in which credentials come.
    case "StoreClient": return ["Glibc", "Synchronization", "FoundationEssentials"]
    default: return ["Glibc", "Synchronization"]
    }
  }

  /// What a file imports although its target may not.
  func breaches(_ file: SourceText) -> [Rules.Finding] {
    guard let allowed = imports[file.target] else {
      return [
        Rules.Finding(path: file.path, line: 1, rule: "'\(file.target)' is not in Package.swift")
      ]
    }
    return Self.imports(of: file).compactMap { line, module in
      if allowed.contains(module) || Self.toolchainModules(for: file.target).contains(module) {
        return nil
      }
      return Rules.Finding(
        path: file.path,
        line: line,
        rule: "\(file.target) may not import \(module)"
      )
    }
  }

  /// The modules a file imports, with their lines.
  static func imports(of file: SourceText) -> [(line: Int, module: String)] {
    let pattern =
      #/^\s*(?:@\w+(?:\(\w+\))?\s+)*(?:public |package |internal |fileprivate |private )?import (?:(?:struct|class|enum|protocol|func|var|let|typealias) )?(\w+)/#
    return file.code.enumerated().compactMap { index, line in
      line.firstMatch(of: pattern).map { (index + 1, String($0.output.1)) }
    }
  }

  /// The C modules that not exactly one Swift target imports.
  func sharedFences(_ files: [SourceText]) -> [String] {
    var importers: [String: Set<String>] = [:]
    for file in files {
      for (_, module) in Self.imports(of: file) where fences.contains(module) {
        importers[module, default: []].insert(file.target)
      }
    }
    return fences.sorted().compactMap { fence in
      let targets = importers[fence] ?? []
      guard targets.count != 1 else { return nil }
      return
        "\(fence) is imported by \(targets.isEmpty ? "nobody" : targets.sorted().joined(separator: ", "))"
    }
  }
}
