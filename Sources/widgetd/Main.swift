import ArgumentParser
import Glibc
import TaskThreads
import WidgetProcess
import WidgetSystemd

/// Parses the arguments and runs the daemon. Wrong arguments end with the same status as in the
/// other programs of this package, 2.
@main
enum Main {
  static func main() { TaskThreads.run { await run() } }

  @MainActor private static func run() async {
    Signals.take(Signals.terminating + [SIGHUP]) { errorLog.write($0, .error) }
    StandardOutput.reportFailuresAtExit()
    signal(SIGPIPE, SIG_IGN)
    // If the daemon ignores SIGXFSZ, a write above RLIMIT_FSIZE fails as on a full disk.
    signal(SIGXFSZ, SIG_IGN)
    do {
      if let launch = Launch(Array(CommandLine.arguments.dropFirst())) {
        return try await launch.run()
      }
      var command = try await Widgetd.asyncParseAsRoot()
      if let daemon = command as? Widgetd {
        try await daemon.run()
      } else {
        try command.run()
      }
    } catch {
      guard Widgetd.exitCode(for: error) == .validationFailure else {
        Widgetd.exit(withError: error)
      }
      let text = Widgetd.fullMessage(for: error)
      errorLog.write(text.hasPrefix("Error: ") ? String(text.dropFirst(7)) : text, .error)
      Glibc.exit(2)
    }
  }
}
