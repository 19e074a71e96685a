import Logging
import WidgetCore
import WidgetServer

/// Reads the settings again and applies those that can change while the daemon runs.
actor Reloader {
  private var settings: Settings
  private let flags: [String: String]
  private let file: String?
  private let server: WidgetServer
  private let userFiles: UserFiles
  private let logger: Logger
  /// Those of the start: the server divides the open files only once.
  private let files = OpenFiles.current

  /// Limits that the commit log uses, too. It gets them only at its start.
  private static let limitsOfTheLog: [(String, any WritableKeyPath<ServerLimits, Int> & Sendable)] =
    [
      ("requests_kept_max", \.store.requestsKeptMax),
      ("request_bytes_kept_max", \.store.requestBytesKeptMax),
    ]

  init(
    settings: Settings, flags: [String: String], file: String?, server: WidgetServer,
    userFiles: UserFiles, logger: Logger
  ) {
    self.settings = settings
    self.flags = flags
    self.file = file
    self.server = server
    self.userFiles = userFiles
    self.logger = logger
  }

  var logLevel: Logger.Level { settings.logLevel }

  /// Returns the names of changed settings. If there is an error, nothing changed.
  func reload() async -> WidgetServer.ReloadOutcome {
    let new: Settings
    do {
      new = try await Settings.read(flags: flags, file: file)
    } catch {
      return .init(error: "\(error)")
    }
    var outcome = WidgetServer.ReloadOutcome()
    if new.logLevel != settings.logLevel { outcome.applied.append("log_level") }
    var limits = new.limits
    for (name, path) in Reloader.limitsOfTheLog
    where limits[keyPath: path] != settings.limits[keyPath: path] {
      outcome.settingsForRestart.append("limits.\(name)")
      limits[keyPath: path] = settings.limits[keyPath: path]
    }
    if limits != settings.limits { outcome.applied.append("limits") }
    if new.socket != settings.socket { outcome.settingsForRestart.append("socket") }
    if new.socketMode != settings.socketMode { outcome.settingsForRestart.append("socket_mode") }
    if new.stateDirectory != settings.stateDirectory {
      outcome.settingsForRestart.append("state_directory")
    }
    if new.store != settings.store { outcome.settingsForRestart.append("store") }
    if new.durability != settings.durability { outcome.settingsForRestart.append("durability") }
    if new.clientGroup != settings.clientGroup { outcome.settingsForRestart.append("client_group") }
    await server.reconfigure(
      limits: limits, logLevel: new.logLevel,
      subordinateUIDs: userFiles.subordinateUIDs(warning: logger))
    if limits != settings.limits, let warning = files.warning(limits) {
      logger.warning("\(warning)")
    }
    settings.limits = limits
    settings.logLevel = new.logLevel
    return outcome
  }
}
