import ArgumentParser
import Dispatch
import Glibc
import WidgetClient

/// Starts the program, and ends it with the exit status that the help text promises.
@main
enum Main {
  static func main() async {
    do {
      var command = try await Sysmon.asyncParseAsRoot()
      if let sysmon = command as? Sysmon { try await sysmon.run() } else { try command.run() }
    } catch {
      guard Sysmon.exitCode(for: error) == .validationFailure else { Sysmon.exit(withError: error) }
      writeError(Sysmon.message(for: error))
      exit(2)
    }
  }
}

/// The program: parse, build, run.
struct Sysmon: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "widgetd-sysmon",
    abstract: "Shows this machine as widgets: clock, load, memory, network, disk, and a counter.",
    discussion: """
      The widgets are sysmon/clock, sysmon/load, sysmon/memory, sysmon/network, sysmon/disk and \
      sysmon/counter. They are made at start, or taken over if they are there, and marked stale at \
      the end.

      A click on load, memory, network or disk shows it in another unit. A click on the counter \
      counts, `reset` sets it to 0:

        widgetctl send sysmon/counter click

      Example: widgetd-sysmon --socket /tmp/w/widgetd.sock --interval 5

      Exit status: 0 after SIGTERM or SIGINT (or --once), 1 if the daemon cannot be used, 2 for \
      wrong arguments.
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

  @Flag(name: .long, help: "Take one sample and exit; the widgets stay as they are.")
  var once = false

  func validate() throws {
    guard interval >= 0.1, interval <= 86_400 else {
      throw ValidationError("--interval \(interval): give 0.1 to 86400 seconds")
    }
  }

  func run() async throws {
    do {
      let client = WidgetClient(socketPath: try SocketPath.discover(explicit: socket))
      try await client.connect()
      let provider = Provider(
        client: client, source: SystemSource(), interval: .seconds(interval),
        clock: ContinuousClock(), report: writeError)
      if once {
        try await provider.once()
      } else {
        try await runUntilSignal(provider)
      }
      await client.close()
    } catch {
      writeError("\(error)")
      throw ExitCode(1)
    }
  }

  private func runUntilSignal(_ provider: Provider<SystemSource>) async throws {
    let (stop, sources) = stopSignals()
    defer { for source in sources { source.cancel() } }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await provider.run() }
      group.addTask { for await _ in stop { break } }
      defer { group.cancelAll() }
      try await group.next()
    }
    // Whoever stopped the daemon first has stopped all its widgets too.
    do throws(ClientError) {
      try await provider.client.connect()
    } catch {
      return
    }
    try await provider.retire()
  }
}

/// SIGTERM and SIGINT as a sequence; from now on they do nothing else. Keep the sources.
private func stopSignals() -> (stream: AsyncStream<Void>, sources: [any DispatchSourceSignal]) {
  let (stream, continuation) = AsyncStream.makeStream(
    of: Void.self, bufferingPolicy: .bufferingNewest(1))
  let sources = [SIGTERM, SIGINT].map { number in
    signal(number, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: number)
    source.setEventHandler { continuation.yield() }
    source.activate()
    return source
  }
  return (stream, sources)
}

/// Writes a line to standard error, in one piece, with the program's name.
@Sendable func writeError(_ message: String) {
  let bytes = Array("widgetd-sysmon: \(message)\n".utf8)
  _ = write(STDERR_FILENO, bytes, bytes.count)
}
