import Logging
import WidgetServer

/// Reads the settings again and puts in force what can change while the daemon runs.
actor Reloader {
  private var settings: Settings
  private let flags: [String: String]
  private let file: String?
  private let server: WidgetServer

  init(settings: Settings, flags: [String: String], file: String?, server: WidgetServer) {
    self.settings = settings
    self.flags = flags
    self.file = file
    self.server = server
  }

  var logLevel: Logger.Level { settings.logLevel }

  /// Names of what changed. With an error, nothing did.
  func reload() async -> WidgetServer.ReloadOutcome {
    let new: Settings
    do {
      new = try await Settings.read(flags: flags, file: file)
    } catch {
      return .init(error: "\(error)")
    }
    var outcome = WidgetServer.ReloadOutcome()
    if new.logLevel != settings.logLevel { outcome.applied.append("log_level") }
    if new.limits != settings.limits { outcome.applied.append("limits") }
    if new.socket != settings.socket { outcome.needsRestart.append("socket") }
    if new.socketMode != settings.socketMode { outcome.needsRestart.append("socket_mode") }
    if new.stateDirectory != settings.stateDirectory {
      outcome.needsRestart.append("state_directory")
    }
    if new.store != settings.store { outcome.needsRestart.append("store") }
    if new.durability != settings.durability { outcome.needsRestart.append("durability") }
    if new.clientGroup != settings.clientGroup { outcome.needsRestart.append("client_group") }
    await server.reconfigure(limits: new.limits, logLevel: new.logLevel)
    settings.limits = new.limits
    settings.logLevel = new.logLevel
    return outcome
  }
}
