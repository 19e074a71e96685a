import WidgetModel

/// The names that complete a word, made from the daemon's answers.
enum CompletionNames {
  /// The ids of the bundles that the host shows.
  static func bundles(_ widgets: [Widget]) -> [String] {
    widgets.filter(\.showsBundle).compactMap { OwnerName.bundle($0.id.rawValue) }
  }

  /// The events that a kind declares or handles without a node, and `submit` for a form. With a
  /// node: the events of the node.
  static func events(of kind: Kind?, _ nodes: [Node], node: String?) -> [String] {
    if let node { return nodes.first { $0.id == node }?.events ?? [] }
    let handled = (kind?.reducers ?? []).filter(\.nodeID.isEmpty).map(\.event)
    let submits = nodes.contains { $0.role == .form } ? ["submit"] : []
    return unique((kind?.events ?? []).map(\.name) + handled + submits)
  }

  /// The fields of an event's payload that a kind declares, as assignments.
  static func payload(of event: String, _ kind: Kind?) -> [String] {
    let fields = (kind?.events ?? []).first { $0.name == event }?.payload ?? []
    return fields.map { $0.name + "=" }
  }

  /// The inputs of forms, as assignments.
  static func inputs(_ nodes: [Node]) -> [String] {
    let names = nodes.filter { $0.role.hasFormValue }.map { $0.text("name") }
    return unique(names.filter { !$0.isEmpty }.map { $0 + "=" })
  }

  /// The data keys that a kind declares and that a widget has, as assignments.
  static func assignments(of widget: Widget?, _ kind: Kind?) -> [String] {
    unique((kind?.data ?? []).map(\.name) + (widget?.data.keys ?? [])).map { $0 + "=" }
  }

  /// The paths of `--field`: data keys and parameters, the labels of a widget, and fixed names.
  static func fields(of widget: Widget?, _ kinds: [Kind]) -> [String] {
    let data = kinds.flatMap(\.data).map(\.name) + (widget?.data.keys ?? [])
    let parameters = kinds.flatMap(\.parameters).map(\.name) + (widget?.parameters.keys ?? [])
    let labels = (widget?.labels.entries ?? []).map(\.key)
    return unique(
      data.map { "data.\($0)" } + parameters.map { "parameters.\($0)" }
        + labels.map { "labels.\($0)" } + FieldOptions.names)
  }

  private static func unique(_ names: [String]) -> [String] {
    var found: Set<String> = []
    return names.filter { found.insert($0).inserted }
  }
}
