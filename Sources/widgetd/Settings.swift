import Configuration
import Logging
import SystemPackage
import WidgetServer
import WidgetStorage

/// What the daemon is told: flags before environment before file before defaults.
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

  /// Where the file is read from if no other place is said.
  static let defaultFile = "/etc/widgetd/widgetd.conf"

  /// Reads all sources. Fails with the name of the setting that is wrong, and what would be right.
  static func read(flags: [String: String], file: String?) async throws -> Settings {
    var providers: [any ConfigProvider] = [
      InMemoryProvider(
        name: "flags",
        values: Dictionary(
          uniqueKeysWithValues: flags.map { key, value in
            (
              AbsoluteConfigKey(key.split(separator: ".").map(String.init)),
              .init(stringLiteral: value)
            )
          })),
      EnvironmentVariablesProvider().prefixKeys(with: "widgetd"),
    ]
    do {
      providers.append(
        try await EnvironmentVariablesProvider(
          environmentFilePath: FilePath(file ?? defaultFile), allowMissing: file == nil
        ).prefixKeys(with: "widgetd"))
    } catch {
      throw SettingsError(
        name: "--config", value: file ?? defaultFile,
        expected: "a readable file of settings (\(error))")
    }
    return try Settings(Source(config: ConfigReader(providers: providers)))
  }

  private init(_ source: Source) throws {
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
    for (name, path) in ServerLimits.names {
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

  /// One key after the other, from all providers.
  private struct Source {
    let config: ConfigReader

    func text(_ name: String) -> String? { config.string(forKey: ConfigKey([name])) }

    /// A number, whether the source has it as a number or as text.
    func number(_ scope: String, _ name: String) throws -> String? {
      let key = ConfigKey([scope, name])
      if let value = config.int(forKey: key) { return "\(value)" }
      return config.string(forKey: key)
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

/// A setting that cannot be used.
struct SettingsError: Error, CustomStringConvertible {
  let name: String
  let value: String
  let expected: String

  var description: String { "\(name): \"\(value)\" is not \(expected)." }
}
