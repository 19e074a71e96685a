/// The events that the nodes of a kind take, from their templates and the kind's reducers.
///
/// The events never depend on a widget's state. `visible` and `enabled` decide whether a node takes
/// them now.
public struct NodeEvents: Sendable {
  /// The events of the reducers that name a node, by its id.
  private var byNode: [String: Set<String>] = [:]
  /// The events of the reducers that name no node.
  private var ofAnyNode: Set<String> = []

  public init(_ reducers: [Reducer]) {
    for reducer in reducers {
      if reducer.nodeID.isEmpty {
        ofAnyNode.insert(reducer.event)
      } else {
        byNode[reducer.nodeID, default: []].insert(reducer.event)
      }
    }
  }

  /// The events that nodes of a template take: those of the type in its order, then others by name.
  ///
  /// A reducer without a node counts for nodes whose default events include its event: for a
  /// button, not for every label.
  public func events(of node: NodeTemplate) -> [String] {
    let defaults = node.type.defaultEvents
    var taken = Set(node.events ?? defaults).union(byNode[node.id] ?? [])
    taken.formUnion(ofAnyNode.intersection(defaults))
    let ofType = node.type.events.map(\.name).filter { taken.contains($0) }
    return ofType + taken.subtracting(ofType).sorted { $0.precedesByBytes($1) }
  }

  /// The events that a template can list for a node.
  public func known(for node: NodeTemplate) -> [String] {
    let ofType = node.type.events.map(\.name)
    let others = ofAnyNode.union(byNode.values.joined()).subtracting(ofType)
    return ofType + others.sorted { $0.precedesByBytes($1) }
  }
}
