import Foundation

/// The files of this package.
struct Tree {
  let root: URL

  /// The package that this test belongs to.
  static let package = Tree(
    root: URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
  )

  /// The text of a file, or nil if there is none.
  func text(_ path: String) -> String? {
    try? String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  /// The paths of all files below a directory that end in `suffix`, in order.
  func paths(below directory: String, suffix: String) -> [String] {
    let base = root.appending(path: directory)
    guard let names = try? FileManager.default.subpathsOfDirectory(atPath: base.path) else {
      return []
    }
    return names.filter { $0.hasSuffix(suffix) }.map { "\(directory)/\($0)" }.sorted()
  }

  /// All Swift files below a directory.
  func sources(_ directory: String) -> [SourceText] {
    paths(below: directory, suffix: ".swift").compactMap { path in
      text(path).map { SourceText(path: path, text: $0) }
    }
  }
}
