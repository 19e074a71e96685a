import Glibc
import WidgetProcess

/// Kills what programs have started, if this process is killed.
///
/// The kernel ends only the programs themselves with this process. So a shell that outlives this
/// process knows the process groups of the running programs, and kills them when its pipe closes.
/// A process that has left the group of its program survives.
struct ProgramGuard {
  private static let script = """
    groups=' '
    while read -r word group; do
      case $word in
        +) groups="$groups$group " ;;
        -) groups="${groups%% $group *} ${groups#* $group }" ;;
        q) exit 0 ;;
      esac
    done
    for group in $groups; do kill -s KILL -- "-$group"; done
    """

  private var shell: GuardShell?

  /// The shell, which is a child of this process. Nil before the first program.
  var process: pid_t? { shell?.process }

  /// - Parameter groups: all groups that the guard knows from now on, including this one.
  mutating func add(_ group: pid_t, of groups: Set<pid_t>) { tell("+ \(group)\n", groups) }

  /// Call it while the number of the group cannot be used again.
  ///
  /// - Parameter groups: all groups that the guard knows from now on.
  mutating func remove(_ group: pid_t, of groups: Set<pid_t>) { tell("- \(group)\n", groups) }

  /// Ends the shell.
  mutating func finish() {
    shell?.finish()
    shell = nil
  }

  /// A shell that was ended, or that does not read, is replaced.
  private mutating func tell(_ line: String, _ groups: Set<pid_t>) {
    if let shell {
      guard !shell.write(line) else { return }
      shell.kill()
    }
    shell = groups.isEmpty ? nil : GuardShell.start(ProgramGuard.script, [])
    guard let shell else { return }
    // A stopped shell must not block the host.
    _ = fcntl(shell.input, F_SETFL, fcntl(shell.input, F_GETFL) | O_NONBLOCK)
    for group in groups { _ = shell.write("+ \(group)\n") }
  }
}
