import Glibc
import WidgetProcess

/// Restores a terminal when this process no longer can, for example after SIGKILL.
///
/// If the last word on the pipe of the `GuardShell` was `r`, the shell restores the terminal. The
/// guard needs `sh` and `stty`, and does not start without them.
struct TerminalGuard {
  private let shell: GuardShell

  /// The descriptor of the guard's input.
  var input: CInt { shell.input }

  private static let script = """
    state=s
    while read -r word; do state=$word; done
    [ "$state" = r ] || exit 0
    stty "$1" <&3
    printf '%s\\n%s\\n' "$2" 'The program was ended by force. The terminal is as before; press Enter for a prompt.' >&3
    """

  /// Starts a guard; nil if that is not possible. The guard restores the terminal
  /// only if the last word that it read is `r`.
  static func start(terminal: CInt, before: termios, leave: String) -> TerminalGuard? {
    GuardShell.start(script, [settings(before), leave], terminal: terminal)
      .map { TerminalGuard(shell: $0) }
  }

  /// Ends the guard without any work.
  func finish() { shell.finish() }

  /// Closes the pipe, as the kernel does when a process ends, and waits for the guard.
  func abandon() { shell.abandon() }

  /// The modes of a terminal as `stty` reads them: flags and control characters in hexadecimal.
  private static func settings(_ modes: termios) -> String {
    let flags = [modes.c_iflag, modes.c_oflag, modes.c_cflag, modes.c_lflag]
      .map { String($0, radix: 16) }
    let characters = withUnsafeBytes(of: modes.c_cc) { $0.map { String($0, radix: 16) } }
    return (flags + characters).joined(separator: ":")
  }
}
