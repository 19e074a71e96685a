import WidgetClient
import WidgetModel

/// The target of an event: a widget's nodes and kind. It fills in what the command line leaves out.
struct SendTarget: Sendable {
  var nodes: [Node]
  /// The events that the kind declares, and those that its reducers and its bundle's steps name.
  var events: [EventType] = []
  var handled: Set<String> = []

  /// Asks the daemon if something is left out. Nil if the command is complete, or if that fails.
  static func look(for command: SendCommand, _ session: Session) async throws -> SendTarget? {
    let isGuess = (command.payload + command.values).contains { $0.guessed != nil }
    guard isGuess || (command.name == "submit" && command.node == nil) else { return nil }
    guard
      let widget = try? await session.client.getWidget(
        GetWidgetRequest(id: command.id), options: session.options
      ).widget
    else { return nil }
    var target = SendTarget(nodes: widget.content?.nodes ?? [])
    let kind = try? await session.client.getKind(
      GetKindRequest(name: widget.kind), options: session.options
    ).kind.kind
    target.events = kind?.events ?? []
    target.handled = Set(
      target.events.map(\.name) + (kind?.reducers ?? []).filter(\.nodeID.isEmpty).map(\.event))
    return target
  }

  /// The form that a submit without a node is meant for; nil if it is an event of the widget itself.
  func form(for event: String, of id: WidgetID) throws(CommandFailure) -> String? {
    guard event == "submit", !handled.contains(event) else { return nil }
    let forms = nodes.filter { $0.type == .form }.map(\.id)
    guard forms.count > 1 else { return forms.first }
    throw CommandFailure(
      .invalidArgument,
      "widget \"\(id)\" has \(forms.count) forms; say which: "
        + forms.map { "--node \($0)" }.joined(separator: ", "))
  }

  /// The payload, with declared types: `value=123` for a text input becomes the text "123".
  func typed(
    _ payload: ValueMap, _ details: [Assignment], _ values: [Assignment], event: String,
    node: String?
  ) throws(CommandFailure) -> ValueMap {
    var payload = payload
    for detail in details {
      guard let text = detail.asText else { continue }
      let takesText: Bool =
        if let node {
          detail.key == "value"
            && nodes.contains { $0.id == node && SendTarget.takesText($0) }
        } else {
          events.first { $0.name == event }?.payload.first { $0.name == detail.key }?.type
            == .string
        }
      if takesText { payload[detail.key] = text }
    }
    guard case .map(var submitted)? = payload["values"] else { return payload }
    for value in values {
      guard let text = value.asText,
        nodes.contains(where: {
          SendTarget.takesText($0) && $0.properties["name"] == .string(value.key)
        })
      else { continue }
      submitted[value.key] = text
    }
    payload["values"] = .map(submitted)
    return payload
  }

  /// Whether the value of a node is always text.
  private static func takesText(_ node: Node) -> Bool {
    guard node.type == .input else { return false }
    return node.properties["mode"] != .string("number")
  }
}
