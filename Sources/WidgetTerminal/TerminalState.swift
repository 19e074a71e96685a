import Glibc
import Synchronization

/// The modes of this process's terminal. They are restored at every end of the process.
///
/// Signal handlers use memory that is allocated before and never freed. A handler swaps its address
/// out of `current`, so the terminal is restored exactly once. Handlers call only write(2),
/// tcsetattr(3), tcflush(3), sigaction(2), sigprocmask(2) and raise(3).
enum TerminalState {
  struct Record {
    var input: CInt
    var output: CInt
    var before: termios
    var raw: termios
    var enter: UnsafeBufferPointer<UInt8>
    var leave: UnsafeBufferPointer<UInt8>
    /// The descriptor of the guard's input; -1 without a guard.
    var guardInput: CInt
    /// The descriptor from which the reading thread gets notices.
    var notices: CInt
  }

  /// The messages of a handler to the reading thread, one byte each.
  enum Notice {
    static let resized = UInt8(ascii: "w")
    static let resumed = UInt8(ascii: "r")
    static let finish = UInt8(ascii: "q")
  }

  /// The address of the record while the terminal is changed; 0 while it is not.
  static let current = Atomic<UInt>(0)
  /// The address of the record of a session that is on, changed or suspended; 0 without a session.
  static let session = Atomic<UInt>(0)

  /// Signals that end a process by default, crashes included.
  static let ending: [CInt] = [
    SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS,
  ]

  static func record(_ address: UInt) -> UnsafeMutablePointer<Record>? {
    UnsafeMutablePointer(bitPattern: address)
  }

  // MARK: Change and undo

  /// Changes the terminal as the session's record says. Safe in a handler.
  @discardableResult
  static func apply() -> Bool {
    let address = session.load(ordering: .acquiring)
    guard let record = record(address) else { return false }
    guard tcsetattr(record.pointee.input, TCSANOW, &record.pointee.raw) == 0 else { return false }
    current.store(address, ordering: .releasing)
    write(record.pointee.output, record.pointee.enter)
    say("r\n", to: record.pointee.guardInput)
    return true
  }

  /// Restores the terminal, if it is not restored yet. Safe in a signal handler.
  ///
  /// - Parameter flushes: Whether to drop unread input, such as reports of the mouse.
  @discardableResult
  static func restore(flushes: Bool = false) -> Bool {
    guard let record = record(current.exchange(0, ordering: .acquiringAndReleasing)) else {
      return false
    }
    write(record.pointee.output, record.pointee.leave)
    // TCSAFLUSH would wait for pending output, and so block if the terminal does not read.
    _ = tcsetattr(record.pointee.input, TCSANOW, &record.pointee.before)
    if flushes { tcflush(record.pointee.input, TCIFLUSH) }
    say("s\n", to: record.pointee.guardInput)
    return true
  }

  private static func write(_ descriptor: CInt, _ bytes: UnsafeBufferPointer<UInt8>) {
    var rest = UnsafeRawBufferPointer(bytes)
    while !rest.isEmpty {
      let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
      if count > 0 {
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
      } else if errno == EAGAIN {
        var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        // If the terminal takes nothing for a second, the handler does not wait any longer.
        guard poll(&ready, 1, 1000) > 0 else { return }
      } else if errno != EINTR {
        return
      }
    }
  }

  private static func say(_ text: StaticString, to descriptor: CInt) {
    guard descriptor >= 0 else { return }
    _ = Glibc.write(descriptor, text.utf8Start, text.utf8CodeUnitCount)
  }

  static func notify(_ notice: UInt8) {
    guard let record = record(session.load(ordering: .acquiring)) else { return }
    var byte = notice
    _ = Glibc.write(record.pointee.notices, &byte, 1)
  }

  // MARK: Signals

  /// The former action of a signal.
  struct Former {
    let number: CInt
    let action: sigaction
  }

  /// Installs the handlers, and returns the former ones. An ignored signal stays ignored, as users
  /// of `nohup` expect.
  static func installHandlers() -> [Former] {
    var former: [Former] = []
    for number in ending {
      let action = install(number, flags: CInt(bitPattern: UInt32(SA_RESETHAND)), onEnd)
      former.append(Former(number: number, action: action))
      if unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
        == unsafeBitCast(SIG_IGN, to: Int.self)
      {
        putBack([Former(number: number, action: action)])
      }
    }
    for (number, flags, handler) in [
      (SIGTSTP, 0, onStop), (SIGCONT, SA_RESTART, onContinue), (SIGWINCH, SA_RESTART, onResize),
    ] {
      former.append(Former(number: number, action: install(number, flags: flags, handler)))
    }
    return former
  }

  static func putBack(_ all: [Former]) {
    for former in all {
      var action = former.action
      sigaction(former.number, &action, nil)
    }
  }

  @discardableResult
  private static func install(
    _ number: CInt, flags: CInt, _ handler: @escaping @convention(c) (CInt) -> Void
  ) -> sigaction {
    var action = sigaction()
    var former = sigaction()
    action.__sigaction_handler.sa_handler = handler
    action.sa_flags = flags | SA_NODEFER
    sigaction(number, &action, &former)
    return former
  }

  private static let onEnd: @convention(c) (CInt) -> Void = { number in
    TerminalState.restore()
    // SA_RESETHAND has put the default back.
    raise(number)
  }

  private static let onStop: @convention(c) (CInt) -> Void = { number in
    let before = errno
    let wasChanged = TerminalState.restore()
    var action = sigaction()
    action.__sigaction_handler.sa_handler = SIG_DFL
    sigaction(number, &action, nil)
    raise(number)
    // At this point, the process stops, and resumes later. In a group without a shell, it does not
    // stop.
    TerminalState.install(number, flags: 0, TerminalState.onStop)
    if wasChanged, TerminalState.apply() { TerminalState.notify(Notice.resumed) }
    errno = before
  }

  /// Handles SIGCONT after SIGSTOP, which cannot be handled. The shell has changed the terminal
  /// meanwhile.
  private static let onContinue: @convention(c) (CInt) -> Void = { _ in
    let before = errno
    if TerminalState.current.load(ordering: .acquiring) != 0, TerminalState.apply() {
      TerminalState.notify(Notice.resumed)
    }
    errno = before
  }

  private static let onResize: @convention(c) (CInt) -> Void = { _ in
    let before = errno
    TerminalState.notify(Notice.resized)
    errno = before
  }
}
