import WidgetModel

/// The names of a bundle's file.
package enum BundleFileName {
  /// A folder of a bundle has one of them.
  package static let all = ["bundle.yaml", "bundle.yml", "bundle.json"]
  private static let endings = [".yaml", ".yml", ".json"]

  /// Whether a file must be JSON. Other files may be YAML or JSON.
  package static func isJSON(_ path: String) -> Bool { path.hasSuffix(".json") }

  /// The problem of a folder that has a file with almost the name of a bundle's, but no bundle's file.
  /// Nil for a folder without such a file.
  ///
  /// - Parameter names: of the folder's files.
  package static func problem(
    of folder: String, with names: [String]
  ) -> (message: String, hint: String)? {
    let similar = names.filter { name in
      !name.hasPrefix(".") && endings.contains { name.hasSuffix($0) }
    }.sorted()
    // Other folders can have files of these formats, such as `package.json`.
    for name in similar {
      guard let meant = name.closest(among: all) else { continue }
      return (
        "\(folder) has \(name), but no bundle's file", "did you mean \(meant)? Rename the file"
      )
    }
    return nil
  }

  /// The problem of a folder without a bundle's file.
  package static func missing(from folder: String) -> String {
    "the folder \(folder) has no bundle file"
  }

  /// The words after `missing(from:)` if the folder itself can be missing, too. The problem begins
  /// with the same words, so programs recognize it.
  package static let orFolder = ", or is missing"
  /// The words after `missing(from:)` if the folder itself is missing.
  package static let withFolder = ", because the folder is missing"

  /// The problem of a file or folder whose name is not UTF-8 text.
  ///
  /// - Parameter path: with a replacement character for each invalid part.
  package static func unreadable(_ path: String) -> (message: String, hint: String) {
    ("the name of \(path) is not UTF-8 text", "rename it")
  }

  /// The problem of a link in a folder of bundles that leads to nothing.
  package static func dangling(
    _ path: String, _ reason: String
  ) -> (message: String, hint: String) {
    ("the link \(path) leads to no readable folder: \(reason)", "correct the link, or remove it")
  }

  /// Whether an entry of a folder of bundles was probably meant as a bundle's folder. Its name is
  /// the bundle's id, which has no dot.
  package static func mayBeFolder(_ name: some StringProtocol) -> Bool { !name.contains(".") }

  /// Whether a path has replacement characters, as the path of a name that is not UTF-8 text.
  package static func isRepaired(_ path: String) -> Bool {
    path.unicodeScalars.contains("\u{FFFD}")
  }
}
