import Glibc
import Synchronization

/// Passes signals on to the command that this process runs.
///
/// It passes on only signals from programs. The command is in the same process group, so it gets
/// signals from the terminal, such as Ctrl-C, directly. A signal that arrives before the command
/// has started waits for the start. The handler itself calls kill(2), so it needs no thread.
enum SignalRelay {
  private static let numbers = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2]

  /// 0 before the command has started, -1 after its end.
  private static let process = Atomic<pid_t>(0)
  /// Signals that wait for the command, one bit for each.
  private static let waiting = Atomic<UInt64>(0)

  /// Takes the signals over, except for those that this process ignores. The command ignores
  /// them too.
  static func take() {
    // A handler must not create these values.
    process.store(0, ordering: .sequentiallyConsistent)
    waiting.store(0, ordering: .sequentiallyConsistent)
    for number in numbers {
      var action = sigaction()
      sigaction(number, nil, &action)
      let ignored = unsafeBitCast(SIG_IGN, to: Int.self)
      guard unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) != ignored else {
        continue
      }
      action = sigaction()
      action.sa_flags = SA_SIGINFO | SA_RESTART
      action.__sigaction_handler.sa_sigaction = { number, info, _ in
        // Codes above 0 are from the kernel.
        guard let info, info.pointee.si_code <= 0 else { return }
        SignalRelay.pass(number)
      }
      sigaction(number, &action, nil)
    }
  }

  private static func pass(_ number: CInt) {
    let before = errno
    defer { errno = before }
    let process = process.load(ordering: .sequentiallyConsistent)
    if process > 0 { kill(process, number) }
    guard process == 0 else { return }
    waiting.bitwiseOr(1 << UInt64(number), ordering: .sequentiallyConsistent)
    // The command may have started meanwhile.
    let started = SignalRelay.process.load(ordering: .sequentiallyConsistent)
    if started > 0 { sendWaiting(to: started) }
  }

  /// The command has started.
  static func begin(_ process: pid_t) {
    SignalRelay.process.store(process, ordering: .sequentiallyConsistent)
    sendWaiting(to: process)
  }

  /// Notes that the command has ended. Call it before another process can get its number.
  static func end() { process.store(-1, ordering: .sequentiallyConsistent) }

  private static func sendWaiting(to process: pid_t) {
    let waiting = waiting.exchange(0, ordering: .sequentiallyConsistent)
    for number in numbers where waiting & 1 << UInt64(number) != 0 { kill(process, number) }
  }
}
