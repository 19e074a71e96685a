import Configuration
import Glibc
import Logging
import SystemPackage
import WidgetModel
import WidgetServer
import WidgetStorage

/// The daemon's settings: flags before environment before file before defaults.
///
/// One key, `limits.widgets_max` say, is `--limit widgets_max=N` on the command line,
/// `WIDGETD_LIMITS_WIDGETS_MAX=N` in the environment, and the same line in the file.
struct Settings: Equatable {
  var socket: String
  var socketMode: UInt16
  var stateDirectory: String
  var store: StoreChoice
  var durability: Durability
  var clientGroup: String?
  var logLevel: Logger.Level
  var limits: ServerLimits

  enum StoreChoice: String, CaseIterable { case sqlite, memory }

  /// The names of settings that can change while the daemon runs.
  static let reloadable = ["log_level", "limits"]

  /// The default path of the file.
  static let defaultFile = "/etc/widgetd/widgetd.conf"

  /// Reads all sources. An error has the name of the invalid setting, and the valid form.
  static func read(flags: [String: String], file: String?) async throws -> Settings {
    var providers: [any ConfigProvider] = []
    let variables = inEnvironment()
    if variables.isEmpty || variables.contains(where: { $0.hasPrefix(prefix) }) {
      providers.append(EnvironmentVariablesProvider().prefixKeys(with: "widgetd"))
    }
    let path = file ?? defaultFile
    let settings = bytes(of: path)
    if let error = settings.error, error != ENOENT || file != nil {
      throw unreadable(path, String(cString: strerror(error)))
    }
    // The library refuses /dev/null, with which a caller says that there is no file.
    if !settings.bytes.isEmpty {
      try SettingsFile.check(settings.bytes, path: path)
      do {
        providers.append(
          try await EnvironmentVariablesProvider(environmentFilePath: FilePath(path))
            .prefixKeys(with: "widgetd"))
      } catch {
        throw unreadable(path, "\(error)")
      }
    }
    let limits = try limits(among: variables) + limits(among: names(in: settings.bytes))
    let source = Source(
      flags: flags, config: providers.isEmpty ? nil : ConfigReader(providers: providers))
    do {
      return try Settings(
        source, limits: flags.keys.filter { $0.hasPrefix("limits.") } + limits)
    } catch let error as SettingsError {
      throw located(error, flags: flags, file: file)
    }
  }

  /// An error that has the place of the setting: the line of the file, or the variable. A flag is
  /// its own place.
  static func located(
    _ error: SettingsError, flags: [String: String], file: String?
  ) -> SettingsError {
    guard flags[error.name] == nil else { return error }
    let variable = prefix + error.name.uppercased().replacing(".", with: "_")
    var located = error
    if inEnvironment().contains(variable) {
      located.name = "the variable \(variable)"
    } else if case let path = file ?? defaultFile,
      let line = SettingsFile.line(of: variable, with: error.value, in: bytes(of: path).bytes)
    {
      located.name = "\(path):\(line): \(variable)"
    }
    return located
  }

  /// The beginning of the environment variables that are settings.
  private static let prefix = "WIDGETD_"
  /// The beginning of those that set limits.
  private static let limitPrefix = prefix + "LIMITS_"

  /// The keys of the limits that variables set. Refuses variables that look like limits and name
  /// none. Each is otherwise ignored silently.
  private static func limits(among variables: [String]) throws -> [String] {
    try variables.filter { $0.hasPrefix(limitPrefix) }.map { variable in
      let limit = String(variable.dropFirst(limitPrefix.count))
      let known = ServerLimits.names.map { $0.name.uppercased() }
      guard known.contains(limit) else {
        throw UnknownLimit(
          name: variable, nearest: limit.closest(among: known).map { limitPrefix + $0 })
      }
      return "limits." + limit.lowercased()
    }
  }

  private static func unreadable(_ path: String, _ reason: String) -> SettingsFileError {
    SettingsFileError(
      place: "--config", problem: "cannot read \(path): \(reason)",
      advice: "check the path and the permissions of the file")
  }

  /// The names of the variables that the process was started with.
  private static func inEnvironment() -> [String] {
    bytes(of: "/proc/self/environ").bytes.split(separator: 0).map { name(in: $0) }
  }

  /// The names of the variables that the text of a file sets.
  private static func names(in file: [UInt8]) -> [String] {
    file.split(separator: UInt8(ascii: "\n")).map { name(in: $0) }
  }

  /// The text before the equals sign.
  private static func name(in line: ArraySlice<UInt8>) -> String {
    String(decoding: line.prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self)
      .filter { !$0.isWhitespace }
  }

  /// The bytes of a file. An error is the number in errno.
  static func bytes(of path: String) -> (bytes: [UInt8], error: Int32?) {
    guard let file = fopen(path, "re") else { return ([], errno) }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 4096)
    while case let count = fread(&piece, 1, piece.count, file), count > 0 {
      bytes += piece[..<count]
    }
    return (bytes, ferror(file) == 0 ? nil : errno)
  }

  /// - Parameter keys: The keys of limits that a source may have. The library takes a while for each
  ///   key, and most of the many limits are set nowhere.
  private init(_ source: Source, limits keys: [String]) throws {
    let runtime = environment("XDG_RUNTIME_DIR").map { $0 + "/widgetd" } ?? "/run/widgetd"
    socket = source.text("socket") ?? runtime + "/widgetd.sock"
    let mode = source.text("socket_mode") ?? "0660"
    guard let bits = UInt16(mode, radix: 8), bits <= 0o777 else {
      throw SettingsError(name: "socket_mode", value: mode, expected: "octal bits such as 0660")
    }
    socketMode = bits
    stateDirectory =
      source.text("state_directory") ?? environment("STATE_DIRECTORY")
      ?? environment("XDG_STATE_HOME").map { $0 + "/widgetd" }
      ?? environment("HOME").map { $0 + "/.local/state/widgetd" } ?? "/var/lib/widgetd"
    store = try source.choice("store", StoreChoice.self) ?? .sqlite
    durability = try source.choice("durability", Durability.self) ?? .process
    clientGroup = source.text("client_group")
    logLevel = try source.choice("log_level", Logger.Level.self) ?? .info
    limits = ServerLimits()
    guard !keys.isEmpty else { return }
    for (name, path) in ServerLimits.names where keys.contains("limits." + name) {
      guard let text = try source.number("limits", name) else { continue }
      guard let value = Int(text), value > 0 else {
        throw SettingsError(name: "limits.\(name)", value: text, expected: "a whole number above 0")
      }
      if let ceiling = ServerLimits.ceilings[name], value > ceiling {
        throw SettingsError(name: "limits.\(name)", value: text, expected: "at most \(ceiling)")
      }
      limits[keyPath: path] = value
    }
  }

  /// One key after the other.
  private struct Source {
    let flags: [String: String]
    /// The environment and the file; nil if neither has settings, because the library takes a while.
    let config: ConfigReader?

    func text(_ name: String) -> String? {
      flags[name] ?? config?.string(forKey: ConfigKey([name]))
    }

    /// A number, whether the source has it as a number or as text.
    func number(_ scope: String, _ name: String) throws -> String? {
      if let flag = flags["\(scope).\(name)"] { return flag }
      let key = ConfigKey([scope, name])
      if let value = config?.int(forKey: key) { return "\(value)" }
      return config?.string(forKey: key)
    }

    func choice<C: RawRepresentable<String> & CaseIterable>(
      _ name: String, _ type: C.Type
    ) throws -> C? {
      guard let text = text(name) else { return nil }
      guard let value = C(rawValue: text) else {
        throw SettingsError(
          name: name, value: text,
          expected: "one of " + C.allCases.map(\.rawValue).joined(separator: ", "))
      }
      return value
    }
  }
}

/// A variable in the environment or the file that looks like a limit and is none.
struct UnknownLimit: Error, CustomStringConvertible {
  let name: String
  let nearest: String?

  var description: String {
    "\(name): unknown limit; "
      + (nearest.map { "did you mean \"\($0)\"?" } ?? "run `widgetd --print-limits`")
  }
}

/// A setting that cannot be used.
struct SettingsError: Error, CustomStringConvertible {
  /// The setting, or its place.
  var name: String
  let value: String
  let expected: String

  var description: String { "\(name): \"\(value)\" is not \(expected)." }
}
