import Glibc
import WidgetModel
import WidgetProcess

/// Marks the widget of a running command as stale if this process is killed, for example by SIGKILL.
///
/// Without the guard, the widget would become stale only after `--stale-after`: a killed process cannot
/// say that it is gone. If the guard is killed, too, that time decides.
struct RunGuard {
  /// The status of the activity after the guard has marked it.
  static let status = "widgetctl run was killed; its command may still run"

  private static let script = """
    while read -r word; do [ "$word" = q ] && exit 0; done
    exec "$@"
    """

  private let shell: GuardShell

  /// Starts a guard; nil if that is not possible.
  ///
  /// - Parameter socket: the path of the daemon's socket.
  static func start(_ id: WidgetID, socket: String) -> RunGuard? {
    guard let program = SocketFile.target(ofLink: "/proc/self/exe") else { return nil }
    return GuardShell.start(script, command(id, program: program, socket: socket))
      .map { RunGuard(shell: $0) }
  }

  /// The command that marks the widget.
  static func command(_ id: WidgetID, program: String, socket: String) -> [String] {
    [program, "set", id.rawValue, "--socket", socket, "--stale", "status=\(status)"]
  }

  /// Ends the guard, because the widget shows the result of the command.
  func finish() { shell.finish() }
}
