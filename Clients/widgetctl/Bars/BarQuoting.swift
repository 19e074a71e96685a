// Quoting of texts in the configurations of bars.
extension String {
  /// A text inside a string of eww's configuration, where `${` begins an expression and a backslash
  /// makes any character plain.
  var inEwwString: String {
    unicodeScalars.reduce(into: "") { result, scalar in
      if ["\\", "\"", "$"].contains(scalar) { result += "\\" }
      result.unicodeScalars.append(scalar)
    }
  }

  /// The shell command as `#(…)`, for a status line in double quotes in tmux's configuration.
  ///
  /// `#(` ends at the parenthesis that closes it, whatever the shell has in quotes. So commands that
  /// do nothing supply the missing parentheses.
  var inTmuxStatus: String {
    var (open, lowest) = (0, 0)
    for byte in utf8 {
      if byte == UInt8(ascii: "(") { open += 1 }
      if byte == UInt8(ascii: ")") { open -= 1 }
      lowest = min(lowest, open)
    }
    var command = self
    if lowest < 0 { command = ": '\(String(repeating: "(", count: -lowest))'; " + command }
    if open > lowest { command += "; : '\(String(repeating: ")", count: open - lowest))'" }
    return "#(\(command.inTmuxFormat(isTime: true)))"
  }

  /// The shell command in double quotes in tmux's configuration, for `run-shell`.
  var inTmuxCommand: String { inTmuxFormat(isTime: false) }

  /// A shell command inside double quotes in tmux's configuration, as a format.
  ///
  /// tmux reads the text twice:
  /// 1. The configuration: a backslash quotes `\`, `"` and `$`.
  /// 2. The format: `##` is `#`. `##[` stays, so an empty pair of quotes goes between the two
  ///    characters; the shell has them in quotes. In a status line, `%%` is `%`.
  private func inTmuxFormat(isTime: Bool) -> String {
    var result = ""
    var previous: Unicode.Scalar?
    for scalar in unicodeScalars {
      switch scalar {
      case "#": result += "##"
      case "%" where isTime: result += "%%"
      case "[" where previous == "#": result += "''["
      case "\\", "\"", "$": result += "\\\(scalar)"
      case "\n": result += "\\n"
      default: result.unicodeScalars.append(scalar)
      }
      previous = scalar
    }
    return result
  }
}
