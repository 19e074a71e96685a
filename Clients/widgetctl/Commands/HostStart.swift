import Glibc

/// The command that starts widgetd-host on this machine: by its unit if there is one, else the program.
struct HostStart: Hashable {
  var isRoot: Bool
  /// Whether the systemd that would run the host for this user has the unit.
  var hasUnit: Bool

  static let unit = "widgetd-host.service"

  /// - Parameter exists: Whether a file exists.
  init(isRoot: Bool, environment: (String) -> String?, exists: (String) -> Bool) {
    self.isRoot = isRoot
    let scope = isRoot ? "system" : "user"
    let home = environment("HOME")
    let own = [
      (environment("XDG_CONFIG_HOME") ?? home.map { $0 + "/.config" }).map { $0 + "/systemd/user" },
      (environment("XDG_DATA_HOME") ?? home.map { $0 + "/.local/share" }).map {
        $0 + "/systemd/user"
      },
    ]
    let folders =
      (isRoot ? [] : own.compactMap(\.self))
      + ["/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib"].map { "\($0)/systemd/\(scope)" }
    // Without a running systemd, as in a container, units cannot be started.
    hasUnit =
      exists("/run/systemd/system") && folders.contains { exists("\($0)/\(HostStart.unit)") }
  }

  /// The one for this process's user.
  static var ofProcess: HostStart {
    HostStart(isRoot: geteuid() == 0, environment: Terminal.environment) { access($0, F_OK) == 0 }
  }

  /// The command.
  ///
  /// - Parameter folders: The folders of bundles for a host without a unit. Empty for the usual
  ///   folders.
  func command(_ folders: [String] = []) -> String {
    guard !hasUnit else {
      return isRoot ? "systemctl start widgetd-host" : "systemctl --user start widgetd-host"
    }
    return HostStart.program(folders)
  }

  /// The command without a unit.
  static func program(_ folders: [String]) -> String { "widgetd-host" + options(folders) }

  /// ` --bundles /a --bundles /b`
  static func options(_ folders: [String]) -> String {
    folders.map { " --bundles \($0.shellQuoted)" }.joined()
  }

  /// The words about the start of a host for a folder. The host also runs the folders of the last
  /// one, because a host without them would stop their bundles.
  ///
  /// - Parameter former: The folders of the last host.
  func words(for folder: String, former: [String]) -> String {
    let isFormer = BundleHost.missing(former: former).ran(folder)
    let program = "`\(HostStart.program(former + (isFormer ? [] : [folder])))`"
    guard hasUnit else { return program }
    return isFormer ? "`\(command())`" : "`\(command())` or \(program)"
  }
}
