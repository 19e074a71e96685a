import WidgetModel
import WidgetProto

/// Warnings about buttons of declared kinds without a handler of `press`.
enum IdleButtons {
  private static let press = "press"

  /// A warning for each button that takes `press` only by default: no reducer handles it, and
  /// neither the kind nor the node declares the event.
  static func warnings(_ kinds: [Kind]) -> [RequestWarning] {
    kinds.flatMap { kind in
      let isOfAnyNode =
        kind.events.contains { $0.name == press }
        || kind.reducers.contains { $0.event == press && $0.nodeID.isEmpty }
      guard !isOfAnyNode else { return [RequestWarning]() }
      let handled = Set(kind.reducers.filter { $0.event == press }.map(\.nodeID))
      var idle: [String] = []
      for template in kind.content { collect(template.root, handled, &idle) }
      return idle.map { warning(kind.name, $0) }
    }
  }

  private static func collect(_ node: NodeTemplate, _ handled: Set<String>, _ idle: inout [String])
  {
    // Templates of several families may have the same button.
    if node.type.role == .button, node.events == nil, !handled.contains(node.id),
      !idle.contains(node.id)
    {
      idle.append(node.id)
    }
    for child in node.children { collect(child, handled, &idle) }
  }

  private static func warning(_ kind: KindName, _ node: String) -> RequestWarning {
    RequestWarning(
      reason: "BUTTON_WITHOUT_HANDLER",
      message: "nothing handles a press of the button \"\(node)\" of the kind \"\(kind)\"; add a "
        + "reducer for press, or events: [press] to the button if a program handles it",
      metadata: ["kind": kind.rawValue, "node": node])
  }
}
