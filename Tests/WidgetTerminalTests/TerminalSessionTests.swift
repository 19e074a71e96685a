import Glibc
import Testing
import WidgetProcess

@testable import WidgetTerminal

/// A pseudo-terminal of the kernel, with the end of the user.
private final class PseudoTerminal {
  let user: CInt
  let program: CInt

  init() throws {
    user = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
    try #require(user >= 0)
    // TIOCSPTLCK and TIOCGPTN, which Swift does not import: they unlock it, and read its number.
    var isLocked: CInt = 0
    var number: CInt = 0
    try #require(ioctl(user, 0x4004_5431, &isLocked) == 0 && ioctl(user, 0x8004_5430, &number) == 0)
    let name = "/dev/pts/\(number)"
    program = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)
    try #require(program >= 0)
    var size = winsize(ws_row: 30, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0)
    _ = ioctl(user, UInt(TIOCSWINSZ), &size)
  }

  deinit {
    close(user)
    close(program)
  }

  /// The output of the program, up to a text.
  func output(upTo end: String) -> String {
    var text: [UInt8] = []
    var bytes = [UInt8](repeating: 0, count: 4096)
    while !String(decoding: text, as: UTF8.self).contains(end) {
      var ready = pollfd(fd: user, events: Int16(POLLIN), revents: 0)
      // Only a failing test waits this long.
      guard poll(&ready, 1, 60_000) > 0 else { break }
      let count = read(user, &bytes, bytes.count)
      guard count > 0 else { break }
      text += bytes[..<count]
    }
    return String(decoding: text, as: UTF8.self)
  }

  func type(_ text: String) { _ = write(user, text, text.utf8.count) }

  /// The output of another program, the shell.
  func show(_ text: String) { _ = write(program, text, text.utf8.count) }

  /// Whether the terminal edits lines and echoes, as a shell has it.
  var isCooked: Bool {
    var modes = termios()
    tcgetattr(program, &modes)
    return modes.c_lflag & UInt32(ICANON | ECHO | ISIG) == UInt32(ICANON | ECHO | ISIG)
      && modes.c_oflag & UInt32(OPOST) != 0
  }
}

/// The tests run one at a time, because a process has one session.
@Suite(.serialized, .enabled(if: access("/dev/ptmx", R_OK | W_OK) == 0, "no /dev/ptmx here"))
struct TerminalSessionTests {
  @Test func `a session changes the modes of the terminal and restores them`() throws {
    let terminal = try PseudoTerminal()
    let session = try TerminalSession(input: terminal.program, output: terminal.program)
    #expect(terminal.output(upTo: "\u{1B}[H").contains("\u{1B}[?1049h"))
    #expect(!terminal.isCooked)
    #expect(session.size == TerminalSize(columns: 100, rows: 30))
    try session.write("picture")
    #expect(terminal.output(upTo: "picture").hasSuffix("picture"))
    session.stop()
    #expect(terminal.output(upTo: "\u{1B}[?1049l").hasSuffix("\u{1B}[?25h\u{1B}[?1049l"))
    #expect(terminal.isCooked)
    session.stop()
    // A late picture is not shown. The terminal is already restored, so the guard writes nothing.
    try session.write("late")
    terminal.show("after")
    #expect(terminal.output(upTo: "after") == "after")
  }

  @Test func `keys, resizing and the end are events, in order`() async throws {
    let terminal = try PseudoTerminal()
    let session = try TerminalSession(input: terminal.program, output: terminal.program)
    var events = try session.events().makeAsyncIterator()
    terminal.type("a\u{1B}[A")
    #expect(await events.next() == .input(.key(.character("a"), [])))
    #expect(await events.next() == .input(.key(.up, [])))
    terminal.type("\u{1B}")
    #expect(await events.next() == .input(.key(.escape, [])))
    var size = winsize(ws_row: 10, ws_col: 20, ws_xpixel: 0, ws_ypixel: 0)
    _ = ioctl(terminal.user, UInt(TIOCSWINSZ), &size)
    // The signal goes to the process, because threads of tests block signals.
    kill(getpid(), SIGWINCH)
    #expect(await events.next() == .resized(TerminalSize(columns: 20, rows: 10)))
    session.stop()
    #expect(await events.next() == nil)
  }

  @Test func `a session restores the signal handlers`() throws {
    let terminal = try PseudoTerminal()
    let before = [SIGHUP, SIGTSTP, SIGTERM].map(handler)
    signal(SIGHUP, SIG_IGN)
    defer { signal(SIGHUP, SIG_DFL) }
    let session = try TerminalSession(input: terminal.program, output: terminal.program)
    #expect(handler(SIGHUP) == unsafeBitCast(SIG_IGN, to: Int.self))
    #expect(handler(SIGTERM) != before[2])
    session.stop()
    #expect(handler(SIGHUP) == unsafeBitCast(SIG_IGN, to: Int.self))
    #expect(handler(SIGTSTP) == before[1])
    #expect(handler(SIGTERM) == before[2])
  }

  private func handler(_ number: CInt) -> Int {
    var action = sigaction()
    sigaction(number, nil, &action)
    return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
  }

  @Test func `a process has one session`() throws {
    let terminal = try PseudoTerminal()
    let session = try TerminalSession(input: terminal.program, output: terminal.program)
    #expect(throws: TerminalError.inUse) {
      try TerminalSession(input: terminal.program, output: terminal.program)
    }
    session.stop()
    try TerminalSession(input: terminal.program, output: terminal.program).stop()
  }

  @Test func `a pipe is not a terminal`() throws {
    let pipe = try #require(SystemPipe.make())
    defer { pipe.close() }
    #expect(throws: TerminalError.notATerminal("standard input")) {
      try TerminalSession(input: pipe.reading, output: pipe.writing)
    }
  }

  @Test func `the guard restores the terminal after its process was killed`() throws {
    let terminal = try PseudoTerminal()
    var before = termios()
    tcgetattr(terminal.program, &before)
    let keeper = try #require(
      TerminalGuard.start(
        terminal: terminal.program, before: before, leave: TerminalModes().leave))
    var raw = before
    cfmakeraw(&raw)
    tcsetattr(terminal.program, TCSANOW, &raw)
    _ = write(keeper.input, "r\n", 2)
    #expect(!terminal.isCooked)
    // The kernel does this when a process is killed.
    keeper.abandon()
    let output = terminal.output(upTo: "prompt.")
    #expect(output.contains("\u{1B}[?1002l"))
    #expect(output.contains("\u{1B}[?25h\u{1B}[?1049l"))
    #expect(terminal.isCooked)
  }

  @Test(arguments: ["r\ns\n", "r\nq\n", ""])
  func `the guard does nothing if the terminal was already restored`(words: String) throws {
    let terminal = try PseudoTerminal()
    var before = termios()
    tcgetattr(terminal.program, &before)
    let keeper = try #require(
      TerminalGuard.start(terminal: terminal.program, before: before, leave: "LEFT"))
    _ = write(keeper.input, words, words.utf8.count)
    keeper.finish()
    _ = write(terminal.program, "end", 3)
    #expect(terminal.output(upTo: "end") == "end")
  }
}
