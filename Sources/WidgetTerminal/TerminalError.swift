/// The reason why a terminal cannot be used.
public enum TerminalError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Standard input or output is not a terminal.
  case notATerminal(String)
  /// `TERM` says that it cannot move the cursor.
  case cannotMoveCursor
  /// Another session has the terminal: a process has at most one.
  case inUse
  /// The system refused a call.
  case system(call: String, reason: String)

  public var description: String {
    switch self {
    case .notATerminal(let which):
      "\(which) is not a terminal; run the command in one, without a pipe or redirection"
    case .cannotMoveCursor:
      "the terminal cannot move its cursor (TERM is \"dumb\" or not set); set TERM to the type "
        + "of your terminal"
    case .inUse: "the terminal is in use by this process; end the other session first"
    case .system(let call, let reason): "the terminal cannot be set up: \(call): \(reason)"
    }
  }
}
