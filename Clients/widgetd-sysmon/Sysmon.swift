import ArgumentParser
import Glibc
import TaskThreads
import WidgetClient
import WidgetProcess
import WidgetProvider
import WidgetSystemd
import WidgetTimers

/// Starts the program, and ends it with the exit status that the help text promises.
@main
enum Main {
  static func main() { TaskThreads.run { await run() } }

  @MainActor private static func run() async {
    Signals.take(Signals.stopping) { errorLog.write($0, .error) }
    StandardOutput.reportFailuresAtExit()
    signal(SIGPIPE, SIG_IGN)
    do {
      var command = try await Sysmon.asyncParseAsRoot()
      if let sysmon = command as? Sysmon { try await sysmon.run() } else { try command.run() }
    } catch {
      guard Sysmon.exitCode(for: error) == .validationFailure else { Sysmon.exit(withError: error) }
      errorLog.write(Sysmon.message(for: error), .error)
      exit(2)
    }
  }
}

/// The program: parse, build, run.
struct Sysmon: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "widgetd-sysmon",
    abstract: "Show this machine as widgets: clock, load, memory, network, disk, and a counter.",
    discussion: """
      The widgets are sysmon/clock, sysmon/load, sysmon/memory, sysmon/network, sysmon/disk and \
      sysmon/counter. The program creates missing widgets at its start, and takes over existing \
      ones. When it ends, the widgets are stale.

      A click on load, memory, network or disk selects another unit. A click on the counter adds 1, \
      and the event `reset` sets the counter to 0:

        widgetctl send sysmon/counter click

      Example: widgetd-sysmon --socket /tmp/w/widgetd.sock --interval 5

      Exit status: 0 after SIGTERM, SIGINT, SIGHUP or --once, 1 if the daemon cannot be reached or refuses \
      the program, 2 for wrong usage.
      """,
    version: "0.1.0")

  @Option(
    name: .long,
    help: """
      The daemon's socket. Default: $WIDGETD_SOCKET, else $XDG_RUNTIME_DIR/widgetd/widgetd.sock, \
      else /run/widgetd/widgetd.sock.
      """)
  var socket: String?

  @Option(
    name: .long,
    help: ArgumentHelp("Seconds between two samples, 0.1 to 86400.", valueName: "seconds"))
  var interval = 1.0

  @Flag(name: .long, help: "Take one sample and exit. The widgets keep their state.")
  var once = false

  func validate() throws {
    if socket == "" {
      throw ValidationError("--socket is empty; give it a value, or leave it out")
    }
    guard interval >= 0.1, interval <= 86_400 else {
      throw ValidationError("--interval \(interval): give 0.1 to 86400 seconds")
    }
  }

  func run() async throws {
    do {
      let client = WidgetClient(socketPath: try SocketPath.discover(explicit: socket))
      let runner = Sysmon.runner(SystemMachine(), every: .seconds(interval), client: client)
      try await Signals.untilStopped { [once] in
        try await client.connect()
        if once { try await runner.runOnce() } else { try await runner.run() }
      }
      await client.close()
    } catch {
      errorLog.write("\(error)", .error)
      throw ExitCode(1)
    }
  }

  /// The kinds, and a widget of each.
  static func runner(
    _ machine: some Machine, every interval: Duration, client: WidgetClient,
    now: @escaping @Sendable () -> Timestamp = { .wallClock() },
    clock: any Clock<Duration> = ContinuousClock(),
    report: @escaping @Sendable (String) -> Void = { errorLog.write($0, .warning) },
    note: @escaping @Sendable (String) -> Void = { errorLog.write($0, .info) }
  ) -> ProviderRunner {
    @WidgetsBuilder var widgets: Widgets {
      ClockWidget(machine: machine, interval: interval)
      LoadWidget(machine: machine, interval: interval)
      MemoryWidget(machine: machine, interval: interval)
      NetworkWidget(machine: machine, interval: interval)
      DiskWidget(machine: machine, interval: interval)
      CounterWidget()
    }
    return ProviderRunner(
      name: "sysmon", widgets: widgets, instances: instances, client: client, now: now,
      clock: clock, report: report, note: note)
  }

  static let instances: [WidgetSpec] = [
    spec(of: ClockWidget.self, "Clock"), spec(of: LoadWidget.self, "Load"),
    spec(of: MemoryWidget.self, "Memory"),
    spec(of: NetworkWidget.self, "Network"), spec(of: DiskWidget.self, "Disk"),
    spec(of: CounterWidget.self, "Clicks", .small),
  ]

  /// The widget has the name of its kind.
  private static func spec<W: ProvidedWidget>(
    of kind: W.Type, _ title: String, _ family: Family = .medium
  ) -> WidgetSpec where W.Parameters == Titled {
    WidgetSpec(W.kind.rawValue, of: kind, family: family, labels: ["provider": "sysmon"]) {
      $0.title = title
    }
  }
}

/// The lines of the demo, with the priority that the journal shows.
let errorLog = StandardErrorLog(name: "widgetd-sysmon")
