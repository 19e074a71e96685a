/// The sequences that make a terminal a canvas, and those that undo it.
public struct TerminalModes: Hashable, Sendable {
  /// Presses, releases, drags and the wheel are reported.
  public var mouse: Bool
  /// Movement without a pressed button is reported, too. Each crossed cell then causes input.
  public var mouseMovement: Bool

  public init(mouse: Bool = true, mouseMovement: Bool = false) {
    self.mouse = mouse
    self.mouseMovement = mouseMovement
  }

  /// To the alternate screen, cleared, without a cursor; paste in brackets, focus and mouse reported.
  var enter: String {
    "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?2004h\u{1B}[?1004h"
      + (mouse ? "\u{1B}[?1002h\u{1B}[?1006h" : "") + (mouseMovement ? "\u{1B}[?1003h" : "")
      + "\u{1B}[m\u{1B}[2J\u{1B}[H"
  }

  /// Undoes all of `enter`, and the state that an interrupted picture can leave: a string, an open
  /// update, a link, a style.
  var leave: String {
    "\u{1B}\\\u{1B}[?2026l\u{1B}[?1003l\u{1B}[?1002l\u{1B}[?1006l\u{1B}[?1004l\u{1B}[?2004l"
      + "\u{1B}]8;;\u{1B}\\\u{1B}[m\u{1B}[?25h\u{1B}[?1049l"
  }
}

/// Columns and rows of a terminal.
public struct TerminalSize: Hashable, Sendable {
  public var columns: Int
  public var rows: Int

  public init(columns: Int, rows: Int) {
    self.columns = columns
    self.rows = rows
  }
}
