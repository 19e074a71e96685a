import Glibc
import Synchronization

/// The note on standard error that a change may still be made, if a signal such as Ctrl-C ends the
/// command before the daemon has answered.
enum PendingChanges {
  private static let numbers = [SIGINT, SIGTERM]
  private static let count = Atomic<Int>(0)
  private static let isInstalled = Atomic<Bool>(false)

  /// For `CallOptions.pendingChange`.
  @Sendable static func note(isPending: Bool) {
    guard isPending else {
      count.subtract(1, ordering: .sequentiallyConsistent)
      return
    }
    count.add(1, ordering: .sequentiallyConsistent)
    guard !isInstalled.exchange(true, ordering: .sequentiallyConsistent) else { return }
    for number in numbers { install(number) }
  }

  /// Handles a signal, unless the process already handles or ignores it.
  private static func install(_ number: CInt) {
    var action = sigaction()
    guard sigaction(number, nil, &action) == 0, action.__sigaction_handler.sa_handler == nil else {
      return
    }
    action = sigaction()
    action.__sigaction_handler.sa_handler = onEnd
    sigaction(number, &action, nil)
  }

  private static let onEnd: @convention(c) (CInt) -> Void = { number in
    // A reader that does not read must not keep the command from its end. Two signals give one note.
    var output = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
    if PendingChanges.count.exchange(0, ordering: .sequentiallyConsistent) > 0,
      poll(&output, 1, 0) == 1
    {
      let words: StaticString = """

        widgetctl: the command ended before the daemon answered. The change may still be made

        """
      _ = Glibc.write(STDERR_FILENO, words.utf8Start, words.utf8CodeUnitCount)
    }
    signal(number, SIG_DFL)
    // The signal is blocked in its handler, so it ends the process after the handler.
    raise(number)
  }
}
