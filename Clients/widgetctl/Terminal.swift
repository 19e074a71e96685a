import Glibc
import WidgetClient
import WidgetExpression
import WidgetModel
import WidgetProcess

/// The targets of standard output and standard error.
enum Terminal {
  static var outputIsTerminal: Bool { isatty(STDOUT_FILENO) == 1 }
  static var errorIsTerminal: Bool { isatty(STDERR_FILENO) == 1 }

  /// The columns of the terminal of standard output; nil if it is no terminal.
  static var width: Int? { size.map { $0.columns } }

  /// Columns and lines of the terminal of standard output; nil if it is no terminal.
  static var size: (columns: Int, lines: Int)? {
    guard outputIsTerminal else { return nil }
    var size = winsize()
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 else { return (80, 24) }
    return (size.ws_col > 0 ? Int(size.ws_col) : 80, size.ws_row > 0 ? Int(size.ws_row) : 24)
  }

  /// The columns of the terminal of standard error; nil if it is no terminal.
  static var errorWidth: Int? {
    guard errorIsTerminal else { return nil }
    var size = winsize()
    guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }

  /// A variable of the environment; nil if it is not set or empty.
  static func environment(_ name: String) -> String? {
    guard let value = getenv(name), value.pointee != 0 else { return nil }
    return String(cString: value)
  }

  /// Whether to colour the output to a terminal.
  static var wantsColour: Bool {
    environment("NO_COLOR") == nil && environment("TERM") != "dumb"
  }

  /// The local time zone at a time, as an offset from UTC: `+02:00`.
  static func zoneOffset(at time: Timestamp) -> String {
    var seconds = time_t(time.seconds)
    var parts = tm()
    guard localtime_r(&seconds, &parts) != nil else { return "+00:00" }
    let minutes = abs(parts.tm_gmtoff) / 60
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return (parts.tm_gmtoff < 0 ? "-" : "+") + "\(two(minutes / 60)):\(two(minutes % 60))"
  }

  /// The time of day in the local time zone, `08:21:05`.
  static func timeOfDay(_ time: Timestamp) -> String {
    var seconds = time_t(time.seconds)
    var parts = tm()
    guard localtime_r(&seconds, &parts) != nil else { return RFC3339.text(time) }
    func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))"
  }
}

/// Standard output and standard error, written at once and whole.
///
/// Output is not buffered, so that a line reaches its reader when the command has written it. When
/// the reader of standard output has closed it (`| head`), the process ends quietly with status 0.
enum Output {
  /// Writes text to standard output. Ends the process if that cannot be written.
  static func write(_ text: String) {
    var text = text
    end(text.withUTF8 { write(UnsafeRawBufferPointer($0), to: STDOUT_FILENO) })
  }

  /// Whether the reader of a pipe has taken all output. True for other outputs.
  static var isTaken: Bool {
    var unread: Int32 = 0
    return ioctl(STDOUT_FILENO, UInt(FIONREAD), &unread) != 0 || unread == 0
  }

  /// The same for bytes.
  static func write(_ bytes: [UInt8]) {
    end(bytes.withUnsafeBytes { write($0, to: STDOUT_FILENO) })
  }

  /// Ends the process if there was a failure.
  private static func end(_ error: Int32?) {
    guard let error else { return }
    if error == EPIPE { exit(ExitStatus.ok.rawValue) }
    writeError("widgetctl: cannot write the output: \(String(cString: strerror(error)))\n")
    exit(ExitStatus(errno: error).rawValue)
  }

  /// Writes text to standard error, with excerpts that fit into a terminal. Ignores failures,
  /// because no other output can report them.
  static func writeError(_ text: String) {
    let columns = text.contains("^\n") ? Terminal.errorWidth : nil
    _ = write(columns.map { SourceExcerpt.fitted(text, columns: $0) } ?? text, to: STDERR_FILENO)
  }

  /// Prints warnings about possible mistakes in a request that succeeded.
  static func warn(_ warnings: [RequestWarning]) {
    for warning in warnings {
      writeError("widgetctl: warning: \(warning.message.safeForTerminal)\n")
    }
  }

  /// Returns the `errno` of a failure.
  private static func write(_ text: String, to descriptor: Int32) -> Int32? {
    var text = text
    return text.withUTF8 { write(UnsafeRawBufferPointer($0), to: descriptor) }
  }

  private static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32? {
    var rest = bytes
    while !rest.isEmpty {
      let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
      if count >= 0 {
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
      } else if errno == EAGAIN {
        var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&ready, 1, -1)
      } else if errno != EINTR {
        return errno
      }
    }
    return nil
  }

  /// Occupies the numbers of closed standard streams, so that no socket gets these numbers. Reading
  /// then finds the end; writing fails, as it does for a closed stream.
  static func occupyClosedStreams() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      // This number is the lowest free one, because the numbers below it are used.
      _ = open("/dev/null", O_RDONLY)
    }
  }

  /// Ends the process, with status 0, as soon as the reader of standard output closes it. Otherwise
  /// a command that follows changes would run on until the next change.
  ///
  /// A thread sleeps in poll(2), which reports the loss of a pipe's or socket's other end even
  /// without requested events. For files, poll reports nothing.
  static func endWithReader() {
    _ = DetachedThread.start {
      var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
      while poll(&output, 1, -1) < 0, errno == EINTR {}
      if output.revents & Int16(POLLERR | POLLHUP | POLLNVAL) != 0 {
        _exit(ExitStatus.ok.rawValue)
      }
    }
  }
}

/// A file in place of a socket.
enum SocketFile {
  /// The type of a file that is not a socket, in words. Nil for a socket or a missing file.
  static func kindOfOther(_ path: String) -> String? {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    switch status.st_mode & S_IFMT {
    case S_IFSOCK: return nil
    case S_IFDIR: return "a directory"
    case S_IFREG: return "a regular file"
    default: return "a special file"
    }
  }

  /// The target of a symbolic link, as written. Nil if the path is no link or cannot be read.
  static func target(ofLink path: String) -> String? {
    var text = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink(path, &text, text.count)
    guard count > 0 else { return nil }
    return String(decoding: text[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

/// Reading of files that arguments name.
enum Input {
  /// The maximum size of a file, in bytes. It is larger than any message.
  static let bytesMax = 16 << 20

  /// The text of a file; `-` is standard input.
  static func text(_ path: String) throws(CommandFailure) -> String {
    guard !path.isEmpty else {
      throw CommandFailure(
        .usage, "the name of the file is empty; name a file, or - for standard input")
    }
    let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure(path, errno) }
    defer { if path != "-" { close(descriptor) } }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = read(descriptor, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw failure(path, errno) }
      guard count > 0 else { break }
      bytes += chunk[..<count]
      guard bytes.count <= bytesMax else {
        throw CommandFailure(.invalidArgument, "\(path): longer than \(bytesMax >> 20) MiB")
      }
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw CommandFailure(.invalidArgument, "\(path): not well-formed UTF-8")
    }
    return text
  }

  private static func failure(_ path: String, _ error: Int32) -> CommandFailure {
    guard error != ENOENT else {
      return CommandFailure(.notFound, "\(path): there is no such file; check the path")
    }
    guard error != EISDIR else {
      return CommandFailure(.otherError, "\(path) is a folder; name a file")
    }
    return CommandFailure(
      ExitStatus(errno: error), "\(path) cannot be read: \(String(cString: strerror(error)))")
  }
}
