import WidgetModel

/// An event that widgets of a kind take, with its details.
struct DeclaredEvent: Sendable {
  let type: EventType
  let payload: DeclaredFields

  init(_ type: EventType, isOpen: Bool) {
    self.type = type
    payload = DeclaredFields(type.payload, of: .payload(ofEvent: type.name), isOpen: isOpen)
  }

  /// The event of this name that users cause on nodes of a type; nil for none.
  ///
  /// - Parameter isOpen: Whether the payload may have other details.
  static func ofNode(_ node: NodeType, _ name: String, isOpen: Bool) -> DeclaredEvent? {
    (isOpen ? openEvents : closedEvents)[node]?[name]
  }

  private static let closedEvents = eventsOfNodes(isOpen: false)
  private static let openEvents = eventsOfNodes(isOpen: true)

  private static func eventsOfNodes(isOpen: Bool) -> [NodeType: [String: DeclaredEvent]] {
    NodeType.allCases.reduce(into: [:]) { table, node in
      table[node] = Dictionary(
        node.events.map { ($0.name, DeclaredEvent($0, isOpen: isOpen)) },
        uniquingKeysWith: { first, _ in first })
    }
  }
}
