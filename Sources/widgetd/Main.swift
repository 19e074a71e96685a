import ArgumentParser
import Glibc
import WidgetProcess

/// Parses the arguments and runs the daemon. Wrong arguments end with the same status as in the
/// other programs of this package, 2.
@main
enum Main {
  static func main() async {
    Signals.take(Signals.stopping + [SIGHUP]) { writeError("widgetd: \($0)") }
    signal(SIGPIPE, SIG_IGN)
    do {
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
      writeError("widgetd: " + (text.hasPrefix("Error: ") ? String(text.dropFirst(7)) : text))
      Glibc.exit(2)
    }
  }
}
