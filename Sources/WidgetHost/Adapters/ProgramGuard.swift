import Glibc
import WidgetProcess

/// Kills what programs have started, if this process is killed.
///
/// The kernel ends only the programs themselves with this process. So a shell that outlives this
/// process knows the process groups of the running programs, and kills them when its pipe closes.
/// A process that has left the group of its program survives. A shell that somebody kills is replaced
/// (`renew`).
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
  /// The number of shells that may replace ended ones now. So shells that are killed again and again
  /// do not keep this process busy.
  private var replacements = Allowance(burst: 5, perSecond: 1)

  /// The shell, which is a child of this process. Nil before the first program.
  var process: pid_t? { shell?.process }

  /// - Parameter groups: all groups that the guard knows from now on, including this one.
  mutating func add(_ group: pid_t, of groups: Set<pid_t>) { tell("+ \(group)\n", groups) }

  /// Call it while the number of the group cannot be used again.
  ///
  /// - Parameter groups: all groups that the guard knows from now on.
  mutating func remove(_ group: pid_t, of groups: Set<pid_t>) { tell("- \(group)\n", groups) }

  /// Replaces the shell if it has ended. Call it after a child has ended.
  ///
  /// - Parameters:
  ///   - groups: all groups that the guard knows from now on.
  ///   - uptime: the present time.
  /// - Returns: whether the groups have no shell now. Then try again after a second.
  mutating func renew(for groups: Set<pid_t>, at uptime: Duration) -> Bool {
    replacements.refill(at: uptime)
    if let shell, !shell.hasEnded { return false }
    guard !groups.isEmpty else {
      abandon()
      return false
    }
    guard replacements.available >= 1 else { return true }
    replacements.take(1)
    abandon()
    start(groups)
    return shell == nil
  }

  /// Ends the shell.
  mutating func finish() {
    shell?.finish()
    shell = nil
  }

  /// Closes the pipe, as the kernel does if this process is killed.
  mutating func abandon() {
    shell?.abandon()
    shell = nil
  }

  /// A shell that was ended, or that does not read, is replaced.
  private mutating func tell(_ line: String, _ groups: Set<pid_t>) {
    if let shell {
      guard !shell.write(line) else { return }
      shell.kill()
    }
    shell = nil
    if !groups.isEmpty { start(groups) }
  }

  private mutating func start(_ groups: Set<pid_t>) {
    shell = GuardShell.start(ProgramGuard.script, [])
    guard let shell else { return }
    // A stopped shell must not block the host.
    _ = fcntl(shell.input, F_SETFL, fcntl(shell.input, F_GETFL) | O_NONBLOCK)
    for group in groups { _ = shell.write("+ \(group)\n") }
  }
}
