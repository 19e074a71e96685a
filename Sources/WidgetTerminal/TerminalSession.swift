import Glibc
import Synchronization
import WidgetProcess

/// An event at a terminal.
public enum TerminalEvent: Hashable, Sendable {
  case input(TerminalInput)
  /// The terminal has another size now. No other state is lost.
  case resized(TerminalSize)
  /// The process resumed after a suspension: the screen is empty, and its size may be different.
  case resumed(TerminalSize)
  /// The terminal was closed, or its input has ended.
  case ended
}

/// A terminal in use for pictures and keys: raw, on the alternate screen, with mouse and paste.
///
/// The session restores the terminal in `stop`, at `exit`, on signals that end the process, and
/// while the process is suspended. After SIGKILL a guard restores it (see `TerminalGuard`). SIGSTOP
/// is the exception: it stops the process before it can do anything. `fg` brings the picture back.
///
/// A process has at most one session. If the program handles a signal itself after `start`, that
/// signal no longer restores the terminal. The program calls `stop` then.
public final class TerminalSession: Sendable {
  /// The maximum time for the rest of a sequence. After it, a byte of Escape counts as the key.
  public static let escapeTimeout = Duration.milliseconds(50)
  /// After this pause within a paste, in milliseconds, Ctrl-C and Ctrl-Z are keys again.
  fileprivate static let pasteWait: CInt = 1_000
  /// The maximum number of buffered events. Beyond it, the oldest events are dropped.
  public static let eventsMax = 4096

  /// The maximum size of one write, in bytes. A signal may restore the terminal between two writes.
  private static let pieceBytes = 4096

  /// Does not change after `init`.
  nonisolated(unsafe) private let record: UnsafeMutablePointer<TerminalState.Record>
  private let keeper: TerminalGuard?
  private let noticesOut: CInt
  private let isOn = Mutex(true)
  private let formerSignals = Mutex<[TerminalState.Former]>([])

  /// Takes the terminal and changes it.
  ///
  /// - Parameters:
  ///   - input: The descriptor that keys come from. Default: standard input.
  ///   - output: The descriptor that pictures go to. Default: standard output.
  /// - Throws: `notATerminal`, `inUse`, `system`.
  public init(
    input: CInt = 0, output: CInt = 1, modes: TerminalModes = TerminalModes()
  ) throws(TerminalError) {
    guard isatty(input) == 1 else { throw .notATerminal("standard input") }
    guard isatty(output) == 1 else { throw .notATerminal("standard output") }
    var before = termios()
    guard tcgetattr(input, &before) == 0 else { throw TerminalSession.failure("tcgetattr") }
    guard let ends = SystemPipe.make() else { throw TerminalSession.failure("pipe") }
    for end in [ends.reading, ends.writing] { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
    var raw = before
    cfmakeraw(&raw)
    let record = UnsafeMutablePointer<TerminalState.Record>.allocate(capacity: 1)
    record.initialize(
      to: TerminalState.Record(
        input: input, output: TerminalSession.reopened(output), before: before, raw: raw,
        enter: TerminalSession.permanent(modes.enter),
        leave: TerminalSession.permanent(modes.leave), guardInput: -1, notices: ends.writing))
    let address = UInt(bitPattern: record)
    let (isFree, _) = TerminalState.session.compareExchange(
      expected: 0, desired: address, ordering: .acquiringAndReleasing)
    guard isFree else {
      ends.close()
      TerminalSession.free(record)
      throw .inUse
    }
    self.record = record
    noticesOut = ends.reading
    keeper = TerminalGuard.start(terminal: output, before: before, leave: modes.leave)
    record.pointee.guardInput = keeper?.input ?? -1
    _ = TerminalSession.atExit
    let former = TerminalState.installHandlers()
    formerSignals.withLock { $0 = former }
    guard TerminalState.apply() else {
      let error = TerminalSession.failure("tcsetattr")
      stop()
      throw error
    }
  }

  /// Opens the terminal of a descriptor again in non-blocking mode. Other processes may share the
  /// descriptor's open file, so its flags must not change. Returns the descriptor if opening fails.
  private static func reopened(_ output: CInt) -> CInt {
    let descriptor = open("/proc/self/fd/\(output)", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
    return descriptor >= 0 ? descriptor : output
  }

  deinit { stop() }

  /// Restores the terminal and ends the sequence of events. A second call does nothing.
  public func stop() {
    let wasOn = isOn.withLock { isOn in
      defer { isOn = false }
      return isOn
    }
    guard wasOn else { return }
    TerminalState.restore(flushes: true)
    TerminalState.notify(TerminalState.Notice.finish)
    // The record of some hundred bytes is not freed, because a handler on another thread may still
    // read it.
    TerminalState.session.store(0, ordering: .releasing)
    formerSignals.withLock { TerminalState.putBack($0) }
    keeper?.finish()
  }

  /// Restores the terminal and suspends the process's group, as Ctrl-Z does in other programs.
  /// `events` reports when the process resumes.
  public func suspend() { kill(0, SIGTSTP) }

  /// The terminal's size; 80 x 24 if the terminal does not report it.
  public var size: TerminalSize {
    var size = winsize()
    guard ioctl(record.pointee.output, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0,
      size.ws_row > 0
    else { return TerminalSize(columns: 80, rows: 24) }
    return TerminalSize(columns: Int(size.ws_col), rows: Int(size.ws_row))
  }

  /// The size of a cell in pixels. Nil if the terminal does not report it.
  public var cellPixels: (width: Int, height: Int)? {
    var size = winsize()
    guard ioctl(record.pointee.output, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0,
      size.ws_row > 0, size.ws_xpixel >= size.ws_col, size.ws_ypixel >= size.ws_row
    else { return nil }
    return (Int(size.ws_xpixel / size.ws_col), Int(size.ws_ypixel / size.ws_row))
  }

  /// Writes a text. Blocks while the terminal does not read. After the terminal is restored, drops
  /// the rest: it would mix with the output of the shell.
  ///
  /// - Throws: `system` if the terminal was closed.
  public func write(_ text: String) throws(TerminalError) {
    var text = text
    let error = text.withUTF8 { bytes -> CInt in
      var rest = UnsafeRawBufferPointer(bytes)
      while !rest.isEmpty, TerminalState.current.load(ordering: .acquiring) != 0 {
        let count = Glibc.write(
          record.pointee.output, rest.baseAddress, min(rest.count, TerminalSession.pieceBytes))
        if count >= 0 {
          rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
        } else if errno == EAGAIN {
          var ready = pollfd(fd: record.pointee.output, events: Int16(POLLOUT), revents: 0)
          // Wake up every 200 ms to check whether a signal has ended the session.
          poll(&ready, 1, 200)
        } else if errno != EINTR {
          return errno
        }
      }
      return 0
    }
    if error != 0 { throw .system(call: "write", reason: String(cString: strerror(error))) }
  }

  // MARK: Events

  /// The events from now on, until `stop`. Call it once, because a thread reads the terminal for
  /// it.
  ///
  /// - Throws: `system` if the thread does not start. The terminal then does not change until
  ///   `stop`.
  public func events() throws(TerminalError) -> AsyncStream<TerminalEvent> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: TerminalEvent.self, bufferingPolicy: .bufferingNewest(TerminalSession.eventsMax))
    let reading = Reading(
      input: record.pointee.input, notices: noticesOut, size: { [weak self] in self?.size },
      continuation: continuation)
    let thread = Unmanaged.passRetained(reading)
    var handle = pthread_t()
    let status = pthread_create(
      &handle, nil,
      { argument in
        if let argument { Unmanaged<Reading>.fromOpaque(argument).takeRetainedValue().run() }
        return nil
      }, thread.toOpaque())
    guard status == 0 else {
      thread.release()
      throw .system(call: "pthread_create", reason: String(cString: strerror(status)))
    }
    pthread_detach(handle)
    return stream
  }

  // MARK: Memory and errors

  private static let atExit: Void = { atexit { TerminalState.restore() } }()

  private static func failure(_ call: String) -> TerminalError {
    .system(call: call, reason: String(cString: strerror(errno)))
  }

  /// Bytes at a fixed address.
  private static func permanent(_ text: String) -> UnsafeBufferPointer<UInt8> {
    let bytes = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: text.utf8.count)
    _ = bytes.initialize(from: text.utf8)
    return UnsafeBufferPointer(bytes)
  }

  private static func free(_ record: UnsafeMutablePointer<TerminalState.Record>) {
    record.pointee.enter.deallocate()
    record.pointee.leave.deallocate()
    record.deallocate()
  }
}

/// The thread that reads a terminal.
private final class Reading: Sendable {
  private let input: CInt
  private let notices: CInt
  private let size: @Sendable () -> TerminalSize?
  private let continuation: AsyncStream<TerminalEvent>.Continuation

  init(
    input: CInt, notices: CInt, size: @escaping @Sendable () -> TerminalSize?,
    continuation: AsyncStream<TerminalEvent>.Continuation
  ) {
    self.input = input
    self.notices = notices
    self.size = size
    self.continuation = continuation
  }

  func run() {
    // This thread blocks signals, so that its stack need not have room for their handlers.
    var all = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_BLOCK, &all, nil)
    defer {
      continuation.finish()
      close(notices)
    }
    var parser = InputParser()
    var bytes = [UInt8](repeating: 0, count: 4096)
    let (seconds, attoseconds) = TerminalSession.escapeTimeout.components
    let wait = CInt(seconds * 1000 + attoseconds / 1_000_000_000_000_000)
    while true {
      var sources = [
        pollfd(fd: input, events: Int16(POLLIN), revents: 0),
        pollfd(fd: notices, events: Int16(POLLIN), revents: 0),
      ]
      let limit = parser.isAmbiguous ? wait : parser.isPasting ? TerminalSession.pasteWait : -1
      let ready = poll(&sources, 2, limit)
      if ready < 0, errno == EINTR { continue }
      if ready == 0 { send(parser.timeout()) }
      if sources[1].revents != 0 {
        let count = read(notices, &bytes, bytes.count)
        let words = bytes[..<max(count, 0)]
        if count == 0 || words.contains(TerminalState.Notice.finish) { return }
        if let size = size() {
          if words.contains(TerminalState.Notice.resumed) {
            continuation.yield(.resumed(size))
          } else if !words.isEmpty {
            continuation.yield(.resized(size))
          }
        }
      }
      if sources[0].revents != 0 {
        let count = read(input, &bytes, bytes.count)
        if count > 0 {
          send(parser.feed(bytes[..<count]))
        } else if count == 0 || errno != EINTR && errno != EAGAIN {
          continuation.yield(.ended)
          return
        }
      }
    }
  }

  private func send(_ events: [TerminalInput]) {
    for event in events { continuation.yield(.input(event)) }
  }
}
