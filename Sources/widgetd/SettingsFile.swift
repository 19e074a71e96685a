import WidgetModel
import WidgetServer

/// The lines of a file of settings. The library that reads the file skips invalid lines without an
/// error, so a wrong line would have no effect.
enum SettingsFile {
  /// The beginning of the variables that are settings.
  static let prefix = "WIDGETD_"
  /// The beginning of the variables that set limits.
  static let limitPrefix = prefix + "LIMITS_"

  private static let plain = [
    "SOCKET", "SOCKET_MODE", "STATE_DIRECTORY", "STORE", "DURABILITY", "CLIENT_GROUP", "LOG_LEVEL",
  ]

  /// Refuses a file with a line that is neither a setting, nor a comment, nor blank. A variable of
  /// another program is no mistake, if the file has settings. The name of a setting without its
  /// prefix, such as `SOCKET`, is one.
  static func check(_ bytes: [UInt8], path: String) throws(SettingsFileError) {
    guard !bytes.starts(with: [0xEF, 0xBB, 0xBF]) else {
      throw SettingsFileError(
        place: path, problem: "the file begins with a byte order mark",
        advice: "save the file as UTF-8 without it")
    }
    // Swift takes "\r\n" as one character, so the file would be one line.
    guard !bytes.contains(UInt8(ascii: "\r")) else {
      throw SettingsFileError(
        place: path, problem: "the lines end with carriage returns",
        advice: "save the file with Unix line ends")
    }
    guard let text = String(validating: bytes, as: UTF8.self), !text.contains("\0") else {
      throw SettingsFileError(
        place: path, problem: "it is not a text file", advice: SettingsFileError.form)
    }
    var hasSettings = false
    var stranger: SettingsFileError?
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    for (index, whole) in lines.enumerated() {
      let line = whole.trimmed
      guard !line.isEmpty, !line.hasPrefix("#") else { continue }
      let place = "\(path):\(index + 1)"
      guard let equals = line.firstIndex(of: "=") else {
        throw SettingsFileError(
          place: place, problem: "\(excerpt(line)) is not a setting", advice: SettingsFileError.form
        )
      }
      let name = line[..<equals].trimmed
      if name.hasPrefix(prefix) {
        guard problem(of: name) == nil else {
          throw SettingsFileError(place: place, problem: problem(of: name) ?? "", advice: "")
        }
        hasSettings = true
        continue
      }
      let meant = prefix + name.uppercased().replacing(".", with: "_")
      guard problem(of: meant) != nil else {
        throw SettingsFileError(
          place: place, problem: "\(excerpt(name)) is not a setting", advice: "write \(meant)")
      }
      stranger =
        stranger
        ?? SettingsFileError(
          place: place, problem: "\(excerpt(name)) is not a setting, and no other line is one",
          advice: SettingsFileError.form)
    }
    if !hasSettings, let stranger { throw stranger }
  }

  /// The number of the line that sets a variable to a value, from 1. The last one if there are
  /// several. Nil if no line sets the variable.
  static func line(of name: String, with value: String, in bytes: [UInt8]) -> Int? {
    let lines = String(decoding: bytes, as: UTF8.self)
      .split(separator: "\n", omittingEmptySubsequences: false)
      .map { $0.split(separator: "=", maxSplits: 1).map(\.trimmed) }
    let found = lines.indices.filter { lines[$0].count == 2 && lines[$0][0] == name }
    return (found.last { lines[$0][1].contains(value) } ?? found.last).map { $0 + 1 }
  }

  /// Why a variable is no setting, and what was probably meant. Nil for a setting.
  private static func problem(of name: String) -> String? {
    if name.hasPrefix(limitPrefix) {
      let known = ServerLimits.names.map { $0.name.uppercased() }
      let limit = String(name.dropFirst(limitPrefix.count))
      guard !known.contains(limit) else { return nil }
      let nearest = limit.closest(among: known).map { limitPrefix + $0 }
      return "\(UnknownLimit(name: excerpt(name), nearest: nearest))"
    }
    let setting = String(name.dropFirst(prefix.count))
    guard !plain.contains(setting) else { return nil }
    return "\(excerpt(name)): unknown setting; "
      + (setting.closest(among: plain).map { "did you mean \"\(prefix)\($0)\"?" }
        ?? "`man widgetd.conf` lists the settings")
  }

  /// The beginning of a line, without control characters.
  private static func excerpt(_ text: String) -> String {
    let scalars = text.unicodeScalars.map {
      $0.properties.generalCategory == .control ? " " : "\($0)"
    }
    return scalars.count > 60 ? scalars.prefix(59).joined() + "…" : scalars.joined()
  }
}

/// A line of the file of settings that is no setting.
struct SettingsFileError: Error, Hashable, CustomStringConvertible {
  /// The file, and the line if there is one: `/etc/widgetd/widgetd.conf:3`.
  let place: String
  let problem: String
  /// Empty if the problem says what to do.
  let advice: String

  static let form =
    "write lines such as WIDGETD_LOG_LEVEL=notice; `man widgetd.conf` lists the settings"

  var description: String { "\(place): \(problem)" + (advice.isEmpty ? "" : "; \(advice)") }
}

extension StringProtocol {
  /// Without spaces at both ends.
  fileprivate var trimmed: String {
    let start = drop { $0.isWhitespace }
    return String(start.reversed().drop { $0.isWhitespace }.reversed())
  }
}
