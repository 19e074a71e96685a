import Glibc

/// Standard output of programs that write it with `print`.
public enum StandardOutput {
  /// Ends the process with a message and status 1 if its last output cannot be written, as on a full
  /// disk. Without this, `print` and the end of a process ignore such a failure. Call it once, at
  /// the start.
  ///
  /// A reader that has closed the pipe, such as `head`, is no failure.
  public static func reportFailuresAtExit() {
    atexit {
      guard fflush(nil) != 0, errno != EPIPE else { return }
      let reason = String(cString: strerror(errno))
      let name = CommandLine.arguments.first?.split(separator: "/").last ?? "widgetd"
      var text = "\(name): cannot write the output: \(reason)\n"
      _ = text.withUTF8 { write(STDERR_FILENO, $0.baseAddress, $0.count) }
      _exit(1)
    }
  }
}
