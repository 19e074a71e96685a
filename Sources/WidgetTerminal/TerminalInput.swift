/// Input from a terminal: keys, mouse, pasted text, and answers to questions.
public enum TerminalInput: Hashable, Sendable {
  case key(TerminalKey, KeyModifiers)
  case mouse(MouseEvent)
  /// Text that was pasted, as it is: newlines and control characters included.
  case paste(String)
  /// The terminal got the keyboard, or lost it.
  case focus(Bool)
  /// The answer to `TerminalQuery.background`: red, green and blue.
  case background(UInt8, UInt8, UInt8)
  /// The answer to `TerminalQuery.attributes`. The number 4 in it means that the terminal shows
  /// sixels.
  case attributes([Int])
  /// The answer to `TerminalQuery.graphics`: whether the terminal has the kitty graphics protocol.
  case graphics(isKnown: Bool)
  /// The user chose a dark or a light look (mode 2031).
  case colorScheme(isDark: Bool)
}

/// A key, whatever sequence a terminal sends for it.
public enum TerminalKey: Hashable, Sendable {
  /// A key that writes. Letters are as typed: shift is in the letter, not in the modifiers.
  case character(Character)
  case enter, escape, tab, backspace, delete, insert
  case up, down, left, right, home, end, pageUp, pageDown
  /// F1 to F20.
  case function(Int)
}

/// The modifier keys that were held. Terminals report only some of them. For example, shift with a
/// letter is not reported.
public struct KeyModifiers: OptionSet, Hashable, Sendable {
  public let rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let shift = KeyModifiers(rawValue: 1)
  public static let alt = KeyModifiers(rawValue: 2)
  public static let control = KeyModifiers(rawValue: 4)
}

/// A mouse action and its place.
public struct MouseEvent: Hashable, Sendable {
  public enum Button: Hashable, Sendable { case left, middle, right }
  public enum Direction: Hashable, Sendable { case up, down, left, right }
  public enum Action: Hashable, Sendable {
    case press(Button)
    /// Nil where the terminal does not say which button it was.
    case release(Button?)
    case drag(Button)
    /// Moved, with no button pressed. Reported only in mode 1003.
    case move
    case wheel(Direction)
  }

  public var action: Action
  /// From 0, from the left.
  public var column: Int
  /// From 0, from the top.
  public var row: Int
  public var modifiers: KeyModifiers

  public init(action: Action, column: Int, row: Int, modifiers: KeyModifiers = []) {
    self.action = action
    self.column = column
    self.row = row
    self.modifiers = modifiers
  }
}

/// Questions to a terminal. A terminal that does not know them sends no answer.
public enum TerminalQuery {
  /// The colour of the background: OSC 11.
  public static let background = "\u{1B}]11;?\u{1B}\\"
  /// Asks for the kitty graphics protocol, with a picture of one pixel that is not shown. Do not
  /// send it to multiplexers: some read it as a title.
  public static let graphics = "\u{1B}_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\u{1B}\\"
  /// Asks for the primary device attributes. All terminals answer, in order. If this answer comes
  /// before the answer to an earlier question, that answer will not come.
  public static let attributes = "\u{1B}[c"
}
