import ArgumentParser
import WidgetModel
import WidgetServer

/// The daemon's command line.
struct Widgetd: AsyncParsableCommand {
  static let version = "0.1.0"

  static let configuration = CommandConfiguration(
    commandName: "widgetd",
    abstract: "Keep widgets, and stream their state over a Unix socket.",
    discussion: """
      A setting is a flag, an environment variable, or a line VARIABLE=VALUE in a file. A flag \
      overrides the environment. The environment overrides the file.

        flag                    variable
        --socket PATH           WIDGETD_SOCKET=PATH
        --state-directory DIR   WIDGETD_STATE_DIRECTORY=DIR
        --limit NAME=N          WIDGETD_LIMITS_NAME=N (NAME in capitals)

      SIGTERM and SIGINT end the daemon cleanly: it loses no answered change. Under systemd, a \
      restart keeps the connections if the store is sqlite. SIGHUP reloads the settings. log_level \
      and the limits change at once. The other settings need a restart, and so do four limits: \
      metadata_bytes_max, stream_resets_max, requests_kept_max and request_bytes_kept_max.

      Example: widgetd --socket $XDG_RUNTIME_DIR/w/widgetd.sock \
      --state-directory $XDG_RUNTIME_DIR/w/state

      Exit status: 0 after a clean end, 1 if the daemon cannot start, 2 for wrong usage or an \
      invalid setting.
      """,
    version: version)

  @Option(
    name: .long,
    help: """
      The Unix socket to serve. Default: $XDG_RUNTIME_DIR/widgetd/widgetd.sock, else \
      /run/widgetd/widgetd.sock.
      """)
  var socket: String?

  @Option(name: .long, help: "The socket's permission bits, in octal. Default: 0660.")
  var socketMode: String?

  @Option(
    name: .long,
    help: """
      The folder of the store. Default: the first set variable of $STATE_DIRECTORY, \
      $XDG_STATE_HOME/widgetd and $HOME/.local/state/widgetd, else /var/lib/widgetd.
      """)
  var stateDirectory: String?

  @Option(
    name: .long,
    help: "sqlite keeps everything across restarts, memory keeps nothing. Default: sqlite.")
  var store: String?

  @Option(
    name: .long,
    help: """
      The failures that an answered change survives. process: the end of the process, even with \
      kill -9. power: also a power cut, which costs a disk flush for each group of changes. \
      Default: process.
      """)
  var durability: String?

  @Option(
    name: .long,
    help: """
      real is the system's clock. fake is a clock for tests and tutorials, which stands still until \
      `widgetctl clock` moves it. fake needs --store memory, or --state-directory with a scratch \
      folder. Default: real.
      """)
  var clock: String?

  @Option(
    name: .long, help: "The group whose members may read, watch and send events. Default: none.")
  var clientGroup: String?

  @Option(
    name: .long, help: "trace, debug, info, notice, warning, error or critical. Default: info.")
  var logLevel: String?

  @Option(
    name: .customLong("limit"),
    help: ArgumentHelp(
      "Set a limit; may be repeated. `widgetd --print-limits` lists the limits.",
      valueName: "name=n"))
  var limits: [String] = []

  @Option(
    name: .long,
    help: ArgumentHelp(
      "The file of settings. Default: /etc/widgetd/widgetd.conf, if it exists.",
      valueName: "file"))
  var config: String?

  @Flag(name: .long, help: "Print all limits with the values of these settings, and exit.")
  var printLimits = false

  func validate() throws {
    if let clock, !["real", "fake"].contains(clock) {
      throw ValidationError("--clock \(clock): use real or fake")
    }
    let paths = [
      ("--socket", socket), ("--state-directory", stateDirectory), ("--config", config),
    ]
    for (option, path) in paths where path == "" {
      throw ValidationError("\(option) is empty; give it a value, or leave it out")
    }
    var names: Set<Substring> = []
    for limit in limits {
      if let name = limit.split(separator: "=").first, !names.insert(name).inserted {
        throw ValidationError("--limit \(name) is given twice; give it one value")
      }
      let parts = limit.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let known = ServerLimits.names.map(\.name)
      guard parts.count == 2, known.contains(String(parts[0])) else {
        let nearest = parts.count == 2 ? String(parts[0]).closest(among: known) : nil
        throw ValidationError(
          "\(UnknownLimit(name: "--limit \(limit)", nearest: nearest))")
      }
    }
  }

  var launch: Launch {
    var launch = Launch()
    launch.flags["socket"] = socket
    launch.flags["socket_mode"] = socketMode
    launch.flags["state_directory"] = stateDirectory
    launch.flags["store"] = store
    launch.flags["durability"] = durability
    launch.flags["client_group"] = clientGroup
    launch.flags["log_level"] = logLevel
    for limit in limits {
      let parts = limit.split(separator: "=", maxSplits: 1)
      if parts.count == 2 { launch.flags["limits.\(parts[0])"] = String(parts[1]) }
    }
    launch.config = config
    launch.clock = clock
    launch.printsLimits = printLimits
    return launch
  }

  func run() async throws { try await launch.run() }
}
