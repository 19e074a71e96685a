public import WidgetModel

/// A click on a widget in a bar, and its translation to an event of the widget.
public struct BarClick: Hashable, Sendable {
  /// 1 left, 2 middle, 3 right, 4 up, 5 down, 6 left and 7 right with the wheel, 8 back, 9 forward.
  public var button: Int
  /// The clicked node. Empty for a part of the text without a node. Nil if the bar does not know
  /// the node.
  public var node: String?

  /// The buttons for which a bar gets actions: those of the mouse, and the vertical wheel.
  public static let buttons = 1...5
  public static let buttonMax = 9

  public init(button: Int, node: String? = nil) {
    self.button = button
    self.node = node
  }

  /// An event of a node, or of the widget if `node` is empty.
  public struct Event: Hashable, Sendable {
    public var node: String
    public var name: String
    public var payload: ValueMap

    public init(node: String = "", name: String, payload: ValueMap = [:]) {
      self.node = node
      self.name = name
      self.payload = payload
    }
  }

  /// The event for the click. Nil if neither the widget nor a node takes one.
  ///
  /// 1. The left button presses the clicked node, or its nearest ancestor that takes `press` or is
  ///    a toggle. If the bar does not know the node, the first such node that it shows is pressed.
  /// 2. Otherwise the wheel sends `scroll` with `button` and `direction`. Other buttons send
  ///    `click` with `button`. The event goes to such a node, or else to the widget if its kind
  ///    takes it. A kind that declares `press` and no `click` gets `press` from the left button.
  ///
  /// A click on a node that is gone, hidden or disabled does nothing.
  ///
  /// - Parameter kind: The widget's kind. Nil if it is unknown.
  public func event(for widget: Widget, kind: Kind?) -> Event? {
    guard widget.presence.isEnabled, (1...BarClick.buttonMax).contains(button) else { return nil }
    guard let chain = candidates(in: widget.content) else { return nil }
    if button == 1 {
      for node in chain {
        if node.events.contains("press") { return Event(node: node.id, name: "press") }
        if node.role == .toggle, node.events.contains("change") {
          let isOn = node.properties["value"] == .bool(true)
          return Event(node: node.id, name: "change", payload: ["value": .bool(!isOn)])
        }
      }
    }
    let name = (4...7).contains(button) ? "scroll" : "click"
    var payload: ValueMap = ["button": .int(Int64(button))]
    if name == "scroll" {
      payload["direction"] = .string(["up", "down", "left", "right"][button - 4])
    }
    if let node = chain.first(where: { $0.events.contains(name) }) {
      return Event(node: node.id, name: name, payload: payload)
    }
    if button == 1, let kind, kind.declares("press"), !kind.declares("click") {
      return Event(name: "press")
    }
    guard let kind, let declared = kind.events.first(where: { $0.name == name }) else {
      // Unknown kinds, open kinds and kinds without declared events take every event.
      return kind?.events.isEmpty == false && kind?.isOpen == false
        ? nil : Event(name: name, payload: payload)
    }
    let fields = Set(declared.payload.map(\.name))
    return Event(
      name: name,
      payload: ValueMap(payload.entries.filter { fields.contains($0.key) }))
  }

  /// The candidate nodes, nearest first. Nil if the clicked node takes nothing now.
  private func candidates(in content: Content?) -> [Node]? {
    guard let content, node != "" else { return [] }
    let table = NodeTable(content)
    if let node {
      guard let index = table.index(of: node) else { return nil }
      let path = Array(sequence(first: index) { table.parent(of: $0) })
      guard path.allSatisfy({ table[$0]?.node.takesEvents == true }) else { return nil }
      return path.compactMap { table[$0]?.node }
    }
    var result: [Node] = []
    var waiting = table.root.map { [$0] } ?? []
    while let index = waiting.popLast() {
      guard let entry = table[index], entry.node.takesEvents else { continue }
      result.append(entry.node)
      let shown = BarReader.shownChildren(of: entry.node) { id in
        table.index(of: id).flatMap { table[$0]?.node }
      }
      waiting += shown.compactMap { table.index(of: $0) }.reversed()
    }
    return result
  }
}

extension Kind {
  fileprivate func declares(_ event: String) -> Bool { events.contains { $0.name == event } }
}

extension Node {
  /// Whether the node is visible and enabled. Its ancestors may still be hidden or disabled.
  fileprivate var takesEvents: Bool {
    properties["visible"] != .bool(false) && properties["enabled"] != .bool(false)
  }
}
