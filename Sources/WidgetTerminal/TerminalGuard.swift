import Glibc

/// Restores a terminal when this process no longer can, for example after SIGKILL.
///
/// The guard is a shell that reads a pipe. Only this process has the other end, and the kernel
/// closes that end in any case. If the last word on the pipe was `r`, the shell then restores the
/// terminal. The shell is named `sh`, has a separate process group, and ignores the signals
/// that a terminal sends to stop or end jobs. So a signal that ends this process does not end the
/// guard. It needs `sh` and `stty`; without them there is no guard.
struct TerminalGuard {
  /// Where the guard listens.
  let input: CInt
  private let process: pid_t

  private static let script = """
    trap '' HUP INT QUIT TERM TSTP TTIN TTOU
    state=s
    while read -r word; do state=$word; done
    [ "$state" = r ] || exit 0
    stty "$1" <&3
    printf '%s\\n%s\\n' "$2" 'The program was ended by force. The terminal is as before; press Enter for a prompt.' >&3
    """

  /// Starts a guard; nil if that is not possible. The guard restores the terminal
  /// only if the last word that it read is `r`.
  static func start(terminal: CInt, before: termios, leave: String) -> TerminalGuard? {
    guard let ends = SystemPipe.make() else { return nil }
    defer { close(ends.reading) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    // A copy, so that no number is overwritten before it is used.
    let copy = fcntl(terminal, F_DUPFD_CLOEXEC, 10)
    guard copy >= 0 else {
      close(ends.writing)
      return nil
    }
    defer { close(copy) }
    posix_spawn_file_actions_adddup2(&actions, ends.reading, 0)
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, copy, 3)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK))
    posix_spawnattr_setpgroup(&attributes, 0)
    var mask = sigset_t()
    sigemptyset(&mask)
    posix_spawnattr_setsigmask(&attributes, &mask)
    let words = ["sh", "-c", script, "sh", settings(before), leave]
    var arguments = words.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var process: pid_t = 0
    let status = posix_spawn(&process, "/bin/sh", &actions, &attributes, &arguments, environ)
    guard status == 0 else {
      close(ends.writing)
      return nil
    }
    return TerminalGuard(input: ends.writing, process: process)
  }

  /// Ends the guard, which has nothing more to do.
  func finish() {
    _ = write(input, "q\n", 2)
    abandon()
  }

  /// Closes the pipe, as the kernel does when a process ends, and waits for the guard.
  func abandon() {
    close(input)
    while waitpid(process, nil, 0) < 0, errno == EINTR {}
  }

  /// The modes of a terminal as `stty` reads them: flags and control characters in hexadecimal.
  private static func settings(_ modes: termios) -> String {
    let flags = [modes.c_iflag, modes.c_oflag, modes.c_cflag, modes.c_lflag]
      .map { String($0, radix: 16) }
    let characters = withUnsafeBytes(of: modes.c_cc) { $0.map { String($0, radix: 16) } }
    return (flags + characters).joined(separator: ":")
  }
}

/// A pipe that programs started by this one do not inherit.
struct SystemPipe {
  let reading: CInt
  let writing: CInt

  /// Nil, with `errno` set, if there are no descriptors left.
  static func make() -> SystemPipe? {
    var ends: [CInt] = [-1, -1]
    guard pipe(&ends) == 0 else { return nil }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return SystemPipe(reading: ends[0], writing: ends[1])
  }

  func close() {
    Glibc.close(reading)
    Glibc.close(writing)
  }
}
