import WidgetModel

/// The nodes of another widget, as an embed has them.
struct EmbeddedNodes {
  /// One for each node of the content, without children.
  private let entries: [NodeEntry]
  private let content: Content?
  /// The ids in the embed, by the ids in the other widget.
  private let ids: [String: String]

  /// - Parameters:
  ///   - content: nil for an empty embed.
  ///   - slot: The slot of the embed.
  ///   - prefix: The id of the embed.
  init(_ content: Content?, in slot: Int32, id prefix: String) {
    self.content = content
    var entries: [NodeEntry] = []
    var ids: [String: String] = [:]
    for node in content?.nodes ?? [] {
      let id = NodeID.embedded(node.id, in: prefix)
      ids[node.id] = id
      var entry = NodeEntry(
        id: id, type: node.type ?? .stack, properties: node.properties, parent: slot,
        events: node.events, origin: node.id)
      if !node.problem.isEmpty {
        entry.failures.set(NodeFailures.ofOthers, to: node.problem, since: node.problemSince)
      }
      entries.append(entry)
    }
    (self.entries, self.ids) = (entries, ids)
  }

  var count: Int { entries.count }
  var bytes: Int { entries.reduce(0) { $0 + $1.costBytes } }

  /// The slots of the nodes after `place`.
  struct Places {
    /// Each node with children, in order of the content.
    var children: [(slot: Int32, children: [Int32])] = []
    /// The top node.
    var top: Int32?
    var all: Set<Int32> = []
  }

  /// Puts each node into a slot.
  func place(_ put: (NodeEntry) -> Int32) -> Places {
    var slots: [String: Int32] = [:]
    for entry in entries { slots[entry.id] = put(entry) }
    func slot(_ id: String) -> Int32? { ids[id].flatMap { slots[$0] } }
    var places = Places()
    for node in content?.nodes ?? [] {
      guard let own = slot(node.id) else { continue }
      places.children.append((own, node.childIDs.compactMap(slot)))
    }
    places.top = (content?.rootID).flatMap(slot)
    places.all = Set(slots.values)
    return places
  }
}
