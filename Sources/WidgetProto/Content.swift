import CWidgetProto
public import WidgetModel

// The content of widgets and its templates: widgetd/v1/node.proto and the end of kind.proto.

// MARK: - Nodes

extension Content: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__Content>, _ reader: Reader) throws(WireError) {
    self.init(
      rootID: reader.string(c.pointee.root_id),
      nodes: try reader.nodes("nodes", c.pointee.n_nodes, c.pointee.nodes))
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__Content>, _ writer: Writer) throws(WireError) {
    c.pointee.root_id = try writer.string("root_id", rootID)
    c.pointee.n_nodes = nodes.count
    c.pointee.nodes = try writer.list("nodes", nodes)
  }
}

extension Node: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__Node>, _ reader: Reader) throws(WireError) {
    self.init(
      id: reader.string(c.pointee.id), type: NodeType(number: c.pointee.type.rawValue),
      properties: try reader.values("properties", c.pointee.n_properties, c.pointee.properties),
      childIDs: reader.strings(c.pointee.n_child_ids, c.pointee.child_ids),
      problem: reader.string(c.pointee.problem),
      problemSince: try reader.timestamp("problem_since", c.pointee.problem_since),
      events: reader.strings(c.pointee.n_events, c.pointee.events))
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__Node>, _ writer: Writer) throws(WireError) {
    c.pointee.id = try writer.string("id", id)
    c.pointee.type = Widgetd__V1__NodeType(UInt32(type?.rawValue ?? 0))
    c.pointee.n_properties = properties.count
    c.pointee.properties = try writer.entries(
      "properties", properties, of: Widgetd__V1__Node__PropertiesEntry.self)
    c.pointee.n_child_ids = childIDs.count
    c.pointee.child_ids = try writer.strings("child_ids", childIDs)
    if !problem.isEmpty { c.pointee.problem = try writer.string("problem", problem) }
    if let problemSince { c.pointee.problem_since = try writer.timestamp(problemSince) }
    guard !events.isEmpty else { return }
    c.pointee.n_events = events.count
    c.pointee.events = try writer.strings("events", events)
  }
}

extension ContentChange: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ContentChange>, _ reader: Reader) throws(WireError) {
    self.init(
      replaces: c.pointee.replace != 0, rootID: reader.string(c.pointee.root_id),
      setNodes: try reader.nodes("set_nodes", c.pointee.n_set_nodes, c.pointee.set_nodes),
      removedIDs: reader.strings(c.pointee.n_removed_node_ids, c.pointee.removed_node_ids))
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__ContentChange>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.replace = replaces ? 1 : 0
    if !rootID.isEmpty { c.pointee.root_id = try writer.string("root_id", rootID) }
    c.pointee.n_set_nodes = setNodes.count
    c.pointee.set_nodes = try writer.list("set_nodes", setNodes)
    c.pointee.n_removed_node_ids = removedIDs.count
    c.pointee.removed_node_ids = try writer.strings("removed_node_ids", removedIDs)
  }
}

extension Reader {
  fileprivate func nodes(
    _ field: StaticString, _ count: Int, _ list: CList<Widgetd__V1__Node>?
  ) throws(WireError) -> [Node] {
    try self.list(field, count, list) { (element) throws(WireError) in
      try Node(c: element, self)
    }
  }
}

// MARK: - Templates

extension ContentTemplate: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__ContentTemplate>, _ reader: Reader) throws(WireError) {
    self.init(
      families: try reader.families(c.pointee.n_families, c.pointee.families),
      root: try reader.required("root", c.pointee.root))
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__ContentTemplate>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.n_families = families.count
    c.pointee.families = try writer.families(families)
    c.pointee.root = try writer.message("root", root)
  }
}

extension NodeTemplate: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__NodeTemplate>, _ reader: Reader) throws(WireError) {
    let number = c.pointee.type.rawValue
    guard let type = NodeType(number: number) else {
      throw reader.unknownEnum("type", number, "use a NODE_TYPE_ value that is specified")
    }
    self.init(
      id: reader.string(c.pointee.id), type: type,
      properties: try reader.bindings(c.pointee.n_properties, c.pointee.properties),
      condition: reader.string(c.pointee.condition),
      rows: try reader.optional("rows", c.pointee.rows),
      children: try reader.list("children", c.pointee.n_children, c.pointee.children) {
        (element) throws(WireError) in
        try NodeTemplate(c: element, reader)
      },
      events: c.pointee.events.map {
        reader.strings($0.pointee.n_names, $0.pointee.names)
      })
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__NodeTemplate>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.id = try writer.string("id", id)
    c.pointee.type = Widgetd__V1__NodeType(UInt32(type.rawValue))
    let sorted = properties.sorted { $0.key.precedesByBytes($1.key) }
    c.pointee.n_properties = sorted.count
    c.pointee.properties = try writer.list(
      "properties", sorted, of: Widgetd__V1__NodeTemplate__PropertiesEntry.self
    ) { (entry, c) throws(WireError) in
      c.pointee.key = try writer.string("key", entry.key)
      c.pointee.value = try writer.message("value", entry.value)
    }
    c.pointee.condition = try writer.string("condition", condition)
    c.pointee.rows = try writer.message("rows", optional: rows)
    c.pointee.n_children = children.count
    c.pointee.children = try writer.list("children", children)
    c.pointee.events = try writer.message("events", optional: events.map(ListedEvents.init))
  }
}

/// widgetd.v1.NodeEvents, the events that a template lists. A message, so that a missing list
/// differs from an empty one.
public struct ListedEvents: Hashable, Sendable {
  public var names: [String]

  public init(names: [String] = []) { self.names = names }
}

extension ListedEvents: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__NodeEvents>, _ reader: Reader) {
    names = reader.strings(c.pointee.n_names, c.pointee.names)
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__NodeEvents>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.n_names = names.count
    c.pointee.names = try writer.strings("names", names)
  }
}

extension Binding: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__Binding>, _ reader: Reader) throws(WireError) {
    self.init(
      reader.string(c.pointee.expression),
      placeholder: try reader.optional("value", c.pointee.value))
  }

  func fill(_ c: UnsafeMutablePointer<Widgetd__V1__Binding>, _ writer: Writer) throws(WireError) {
    c.pointee.expression = try writer.string("expression", expression)
    c.pointee.value = try writer.message("value", optional: value)
  }
}

extension RowTemplate: ConvertibleMessage {
  init(c: UnsafePointer<Widgetd__V1__RowTemplate>, _ reader: Reader) {
    let name = reader.string(c.pointee.name)
    self.init(
      list: reader.string(c.pointee.list), name: name.isEmpty ? "item" : name,
      key: reader.string(c.pointee.key))
  }

  func fill(
    _ c: UnsafeMutablePointer<Widgetd__V1__RowTemplate>, _ writer: Writer
  ) throws(WireError) {
    c.pointee.list = try writer.string("list", list)
    c.pointee.name = try writer.string("name", name)
    c.pointee.key = try writer.string("key", key)
  }
}

extension Reader {
  /// Reads a map to bindings. If several entries have the same key, the last one counts. An entry
  /// without a binding has an empty binding.
  fileprivate func bindings(
    _ count: Int, _ list: CList<Widgetd__V1__NodeTemplate__PropertiesEntry>?
  ) throws(WireError) -> [String: Binding] {
    guard count > 0, let list else { return [:] }
    var result: [String: Binding] = [:]
    for index in 0..<count {
      guard let c = list[index] else { continue }
      let key = string(c.pointee.key)
      do throws(WireError) {
        result[key] = try optional("value", c.pointee.value) ?? Binding(value: .null)
      } catch {
        throw error.inside("properties[\"\(key)\"]")
      }
    }
    return result
  }
}
