import ArgumentParser
import WidgetClient
import WidgetModel

/// `stats`: counters, gauges and limits.
struct StatsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stats", abstract: "Show the daemon's counters, gauges, limits and their use.",
    discussion: """
      Examples:
        widgetctl stats
        widgetctl stats -o json | jq .limits.widgets_max
      """)
  @OptionGroup var global: GlobalOptions

  func run() async throws {
    let session = try global.session()
    let stats = try await session.client.getStats(options: session.options)
    session.printer.print(stats.document) {
      StatsCommand.table(stats).text(width: session.printer.width, session.printer.painter)
    }
  }

  static func table(_ stats: GetStatsResponse) -> Table {
    // A cut number would look like another one, and the largest number has 20 digits.
    var table = Table("NAME", "VALUE", state: "VALUE", wholeStateColumns: 20)
    func add(_ name: String, _ value: String) { table.add(.init(name), .init(value)) }
    add("version", stats.version)
    add("pid", "\(stats.pid)")
    add("memory_bytes", "\(stats.memoryBytes)")
    add("start_time", RFC3339.text(stats.startTime))
    add("uptime", DurationSyntax.age(stats.uptime))
    add("store", stats.store)
    add("epoch", "\(stats.epoch)")
    add("revision", "\(stats.revision)")
    add("compact_revision", "\(stats.compactRevision)")
    add("widgets", "\(stats.widgets)")
    add("state_bytes", "\(stats.stateBytes)")
    add("last_sequence", "\(stats.lastSequence)")
    add("connections", "\(stats.connections)")
    add("subscriptions", "\(stats.subscriptions)")
    add("providers", "\(stats.providers)")
    for (scope, numbers) in [
      ("counters", stats.counters), ("limits", stats.limits), ("usage", stats.usage),
    ] {
      for (name, number) in numbers.sorted(by: { $0.key.precedesByBytes($1.key) }) {
        add("\(scope).\(name)", "\(number)")
      }
    }
    return table
  }
}

/// `health`: whether the daemon serves.
struct HealthCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "health",
    abstract: "Check whether the daemon serves: status 0 if it does, 7 if not, 8 at the timeout.",
    discussion: """
      A daemon whose store takes no changes, such as on a full disk, still serves reads. Check its \
      store with the name widgetd.v1.Store.

      Examples:
        widgetctl health
        widgetctl health widgetd.v1.Store
        until widgetctl health --timeout 1s; do sleep 1; done
      """)

  @Argument(
    help: "A service's full name, such as widgetd.v1.WidgetService. Default: the daemon as a whole."
  )
  var service = ""

  @OptionGroup var global: GlobalOptions

  func run() async throws {
    let session = try global.session()
    let answer = try await session.client.checkHealth(
      HealthCheckRequest(service: service), options: session.options)
    session.printer.print(.map(["status": .string(answer.status.name)])) {
      "\(answer.status.name)\n"
    }
    guard answer.status == .serving else { throw ExitStatus.unavailable }
  }
}

/// `reload`: has the daemon read its configuration again.
struct ReloadCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "reload", abstract: "Reload the daemon's configuration.",
    discussion: """
      The command waits until the daemon has read its settings. It prints the settings that are \
      now in force, and the settings that need a restart. If a setting is invalid, the daemon \
      keeps the old settings, and the command prints the reason and exits with status 5.

      Example:
        widgetctl reload
      """)
  @OptionGroup var global: GlobalOptions

  func run() async throws {
    let session = try global.session()
    let answer = try await session.client.reload(options: session.options)
    session.printer.print(
      .map([
        "applied": .list(answer.applied.map { .string($0) }),
        "needsRestart": .list(answer.needsRestart.map { .string($0) }),
      ])
    ) {
      guard !answer.applied.isEmpty || !answer.needsRestart.isEmpty else {
        return "nothing changed\n"
      }
      return answer.applied.map { "\($0.safeForTerminal) is in force\n" }.joined()
        + answer.needsRestart.map { "\($0.safeForTerminal) needs a restart\n" }.joined()
    }
  }
}

/// `log-level`: changes the daemon's log level.
struct LogLevelCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "log-level", abstract: "Change the daemon's log level.",
    discussion: """
      The level is in force until the next reload or restart of the daemon.

      Example:
        widgetctl log-level debug
      """)

  @Argument(
    help: "One of \(LogLevelCommand.names).", completion: .list(LogLevel.allCases.map(\.name)),
    transform: LogLevelCommand.parse)
  var level: LogLevel

  @OptionGroup var global: GlobalOptions

  static let names = LogLevel.allCases.map(\.name).joined(separator: ", ")

  @Sendable static func parse(_ text: String) throws -> LogLevel {
    guard let level = LogLevel(name: text) else { throw ValidationError("use one of \(names)") }
    return level
  }

  func run() async throws {
    let session = try global.session()
    let answer = try await session.client.setLogLevel(
      SetLogLevelRequest(level: level), options: session.options)
    let previous = answer.previous?.name ?? "unknown"
    session.printer.print(
      .map(["level": .string(level.name), "previous": .string(previous)])
    ) { "\(previous) -> \(level.name)\n" }
  }
}

/// `completion`: prints a script for a shell.
struct CompletionCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "completion", abstract: "Print a completion script for bash, zsh or fish.",
    discussion: """
      The script completes commands and options. It asks the daemon for ids, kinds, nodes, \
      events, data keys, inputs of forms, bundles and tokens of the theme. If the daemon does not \
      answer within a second, the script does not complete these names.

      Examples:
        source <(widgetctl completion bash)
        widgetctl completion zsh > ~/.zfunc/_widgetctl
        widgetctl completion fish > ~/.config/fish/completions/widgetctl.fish
      """)

  @Argument(
    help: "bash, zsh or fish.", completion: .list(CompletionShell.allCases.map(\.rawValue)),
    transform: { name in
      guard let shell = CompletionShell(rawValue: name) else {
        throw ValidationError("use bash, zsh or fish")
      }
      return shell
    })
  var shell: CompletionShell

  func run() { Output.write(CompletionScript.text(for: shell) + "\n") }
}

/// `version`: prints versions.
struct VersionCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "version",
    abstract: "Print the versions of this program and of the daemon.",
    discussion: """
      If the daemon does not answer within 10 seconds, or within --timeout, its version is unknown.

      Examples:
        widgetctl version
        widgetctl version --client
      """)

  @Flag(help: "Do not ask the daemon.")
  var client = false

  @OptionGroup var global: GlobalOptions

  func run() async throws {
    let printer = Printer(format: global.output ?? .table, painter: global.painter, width: nil)
    // A daemon that hangs does not delay this line.
    if printer.format == .table { Output.write("widgetctl \(Widgetctl.version)\n") }
    let daemon: Result<String, CommandFailure>?
    if client { daemon = nil } else { daemon = await ask() }
    var map: ValueMap = ["widgetctl": .string(Widgetctl.version)]
    if case .success(let version)? = daemon { map["widgetd"] = .string(version) }
    printer.print(.map(map)) {
      switch daemon {
      case nil: ""
      case .success(let version)?: "widgetd \(version.safeForTerminal)\n"
      case .failure(let failure)?: "widgetd unknown: \(failure.message.safeForTerminal)\n"
      }
    }
  }

  private func ask() async -> Result<String, CommandFailure> {
    do throws(CommandFailure) {
      let session = try global.session()
      do throws(ClientError) {
        let options = global.timeout == nil ? global.optionalCall : session.options
        return .success(try await session.client.getStats(options: options).version)
      } catch {
        throw CommandFailure(error)
      }
    } catch {
      return .failure(error)
    }
  }
}
