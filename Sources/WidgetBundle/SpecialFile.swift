/// A named pipe, a device or another entry that is in the place of a bundle's file.
///
/// Such an entry has no lines, so its messages have no position.
package enum SpecialFile {
  /// An entry by its mode, in words.
  ///
  /// - Parameter mode: `st_mode` of stat(2).
  package static func words(mode: UInt32) -> String {
    switch mode & 0o170000 {
    case 0o010000: "a named pipe"
    case 0o020000, 0o060000: "a device"
    case 0o040000: "a folder"
    case 0o100000: "a file"
    case 0o120000: "a link"
    case 0o140000: "a socket"
    default: "a special file"
    }
  }

  /// Whether an entry is a regular file.
  package static func isFile(mode: UInt32) -> Bool { mode & 0o170000 == 0o100000 }

  /// Whether an entry is neither a folder nor a regular file.
  package static func isSpecial(mode: UInt32) -> Bool {
    mode & 0o170000 != 0o040000 && !isFile(mode: mode)
  }

  /// The problem of an entry of a folder of bundles that must be the folder of a bundle.
  package static func problem(
    ofFolder path: String, mode: UInt32
  ) -> (message: String, hint: String) {
    (
      "\(path) is \(words(mode: mode)), not a folder",
      "replace it with a folder, or remove it. \(loss)"
    )
  }

  /// The effect of the removal of an entry in the place of a bundle's folder.
  package static let loss =
    "If a bundle had this place, its widgets are removed with their data 30 seconds after that"

  /// The problem of an entry of a bundle's folder that must be a file.
  package static func problem(
    of path: String, mode: UInt32
  ) -> (message: String, hint: String) {
    ("\(path) is \(words(mode: mode)), not a file", "replace it with a file, or remove it")
  }
}
