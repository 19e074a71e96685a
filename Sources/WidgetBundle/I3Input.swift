/// A request to i3 or sway over its socket. See i3's "IPC interface", and sway-ipc(7).
public struct I3Input: Hashable, Sendable {
  /// A message whose answer is the result. It is asked again at each event. Nil if the events are the
  /// results.
  public var request: Request?
  public var events: [Event]

  public init(request: Request?, events: [Event]) {
    self.request = request
    self.events = events
  }

  public enum Request: String, Hashable, Sendable, CaseIterable {
    case getWorkspaces = "get_workspaces"
    case getOutputs = "get_outputs"
    case getTree = "get_tree"
    case getMarks = "get_marks"
    case getVersion = "get_version"
    case getBindingModes = "get_binding_modes"
    case getInputs = "get_inputs"
    case getSeats = "get_seats"
    /// The focused container, which the host finds in the answer to `get_tree`.
    case focused

    /// The type of the message.
    public var type: UInt32 {
      switch self {
      case .getWorkspaces: 1
      case .getOutputs: 3
      case .getTree, .focused: 4
      case .getMarks: 5
      case .getVersion: 7
      case .getBindingModes: 8
      case .getInputs: 100
      case .getSeats: 101
      }
    }
  }

  public enum Event: String, Hashable, Sendable, CaseIterable {
    case workspace, output, mode, window, binding, tick, input

    /// The type of the event's message, without the highest bit.
    public var type: UInt32 {
      switch self {
      case .workspace: 0
      case .output: 1
      case .mode: 2
      case .window: 3
      case .binding: 5
      case .tick: 7
      case .input: 21
      }
    }
  }
}
