import WidgetExpression
import WidgetModel

/// Reads the content of a kind.
extension KindReader {
  private static let everyFamily = "*"

  /// Reads one node for all families, or one by family: `small`, `"medium, large"`, `"*"`.
  func content(_ item: Item?) {
    guard let item else { return }
    reserveIDs(item.node)
    guard case .map(let entries) = item.node.content else {
      read(template: item, families: [])
      return
    }
    let nodeKeys = Set(NodeType.allCases.map(\.name) + ["type"])
    let isNode = entries.contains { nodeKeys.contains($0.key) }
    if isNode || KindReader.isMisspelledNode(entries.map(\.key)) {
      read(template: item, families: [])
      return
    }
    var seen: Set<Family> = []
    var hasFallback = false
    for entry in reading.entries(item, of: "families and nodes") ?? [] {
      guard entry.name != KindReader.everyFamily else {
        hasFallback = true
        read(template: entry.item, families: [])
        continue
      }
      let names = entry.name.split(separator: ",").map { part in
        (text: String(part.drop { $0 == " " }.prefix { $0 != " " }), item: entry.nameItem)
      }
      let families = reading.families(names, others: NodeType.allCases.map(\.name))
      for family in families {
        if !seen.insert(family).inserted {
          reading.report(entry.nameItem, "there is content for \(family.name) already")
        }
        if !kind.families.isEmpty, !kind.families.contains(family) {
          reading.report(
            entry.nameItem, "the kind does not support \(family.name)",
            hint: "add it to families, or leave this out")
        }
      }
      if !families.isEmpty { read(template: entry.item, families: families) }
    }
    let missing = kind.families.filter { !seen.contains($0) }.map(\.name)
    if !hasFallback, !missing.isEmpty {
      reading.report(
        item, "there is no content for \(missing.joined(separator: ", "))",
        hint: "add content for \"*\"")
    }
  }

  /// Whether the keys are those of a node whose type is misspelled. Otherwise they are families.
  private static func isMisspelledNode(_ keys: [String]) -> Bool {
    let families = Family.allCases.map(\.name)
    let isOfFamilies = keys.contains { key in
      key == everyFamily || key.contains(",") || families.contains(key)
    }
    let types = NodeType.allCases.map(\.name)
    return !isOfFamilies
      && keys.contains { $0.closest(among: families + types).map(types.contains) ?? false }
  }

  private func reserveIDs(_ node: SourceNode) {
    switch node.content {
    case .scalar: break
    case .list(let elements): for element in elements { reserveIDs(element) }
    case .map(let entries):
      for entry in entries {
        if entry.key == "id", case .scalar(let id, _) = entry.value.content {
          nodeIDs.reserve(id)
        }
        reserveIDs(entry.value)
      }
    }
  }

  private func read(template item: Item, families: [Family]) {
    let reader = TemplateReader(self)
    var reads = ContentReads(families: families)
    reading.onCompiled = { expression in
      for use in expression.uses { reads.add(use) }
    }
    defer { reading.onCompiled = nil }
    guard let root = reader.node(item, contentVariables(), form: nil, isRoot: true) else { return }
    reads.placeholderKeys = reader.placeholderKeys
    kind.content.append(ContentTemplate(families: families, root: root))
    contentReads.append(reads)
  }

  /// Adds a handler of a node, unless another template's node of that id has the same handler.
  func add(_ handler: NodeHandler) {
    let same = handlers.first {
      $0.nodeID == handler.nodeID && $0.event.name == handler.event.name
    }
    guard let same else { return handlers.append(handler) }
    guard !same.item.node.isSame(as: handler.item.node) else { return }
    reading.report(
      handler.item,
      "node \"\(handler.nodeID)\" does something else on \(handler.event.name) in another template",
      hint: "give the node another id")
  }

  /// Forgets a handler with a mistake that is reported already.
  func removeHandler(of nodeID: String, _ event: String) {
    handlers.removeAll { $0.nodeID == nodeID && $0.event.name == event }
  }

  /// Sets the events that each node takes: events with a handler for the node, and events that the
  /// kind handles on any node. Events of reducers need not be listed.
  func noteNodeEvents() {
    var handled: [String: Set<String>] = [:]
    for handler in handlers { handled[handler.nodeID, default: []].insert(handler.event.name) }
    var ofAnyNode: Set<String> = []
    for case .event(let name, nil) in triggers.map(\.when) { ofAnyNode.insert(name) }
    for index in kind.content.indices {
      note(handled, ofAnyNode, on: &kind.content[index].root)
    }
  }

  /// Warns of buttons without a handler of `press`. If the kind declares the event, other programs
  /// may handle it.
  func warnOfIdleButtons() {
    let press = "press"
    let isOfAnyNode =
      kind.events.contains { $0.name == press }
      || triggers.contains {
        if case .event(press, nil) = $0.when { true } else { false }
      }
    guard !isOfAnyNode else { return }
    for button in buttons {
      let isHandled =
        handlers.contains { $0.nodeID == button.nodeID && $0.event.name == press }
        || kind.reducers.contains {
          $0.event == press && ($0.nodeID.isEmpty || $0.nodeID == button.nodeID)
        }
      if !isHandled {
        reading.remark(
          button.item, "nothing happens if this button is pressed", hint: "add on: {press: …}")
      }
    }
  }

  private func note(
    _ handled: [String: Set<String>], _ ofAnyNode: Set<String>, on node: inout NodeTemplate
  ) {
    let taken = (handled[node.id] ?? []).union(ofAnyNode.intersection(node.type.defaultEvents))
    node.events = node.type.events.map(\.name).filter { taken.contains($0) }
    // An empty list is the default of such a node.
    if node.events == [], node.type.defaultEvents.isEmpty { node.events = nil }
    for index in node.children.indices { note(handled, ofAnyNode, on: &node.children[index]) }
  }

  func add(_ form: Form, nodeID: String, _ item: Item) {
    if let other = forms[nodeID], other != form {
      reading.report(
        item, "form \"\(nodeID)\" differs in another template",
        hint: "give the form another id")
    }
    forms[nodeID] = form
  }
}

extension ContentReads {
  /// `status.feed.title`, or `data.status.feed.title`, reads the status of `feed`.
  fileprivate mutating func add(_ use: ExpressionUse) {
    var path = use.reference.path[...]
    switch use.reference.variable {
    case "status": break
    case "data":
      // Users see no failure in `data` as a whole, or in the value of a computed key.
      guard case .field(BundleScope.statusKey)? = path.first else { return }
      path = path.dropFirst()
    default: return
    }
    switch path.first {
    case nil:
      if use.kind == .value { readsAllStatuses = true }
    case .field(let name)?:
      statuses[name, default: StatusReads()].add(path.dropFirst(), use.kind)
    case .any?, .index?:
      var computed = StatusReads()
      computed.add(path.dropFirst(), use.kind)
      if computed.tellsFailures { readsAllStatuses = true }
    }
  }
}

extension StatusReads {
  /// Adds a use of a path in the status: `message`, `fields`, `fields.title`.
  fileprivate mutating func add(
    _ path: ArraySlice<ExpressionReference.Step>, _ use: ExpressionUse.Kind
  ) {
    switch path.first {
    case .field("fields")?: addFields(path.dropFirst().first, use)
    case .field(let key)?:
      // All keys always exist. Of those that tell of a failure, only `since` can be null.
      let isTold = use == .value || use == .null && key == "since"
      if isTold, StatusReads.failureKeys.contains(key) { tellsFailures = true }
    case nil, .any?, .index?:
      // Each source and action always has a status.
      if use == .value { tellsFailures = true }
    }
  }

  /// Adds a use of `fields`, or of a field in it. A field is there only if its value is wrong, so a
  /// test of its presence shows the refusal.
  private mutating func addFields(_ step: ExpressionReference.Step?, _ use: ExpressionUse.Kind) {
    switch step {
    case .field(let field)?: fields.insert(field)
    case .any?, .index?: readsAllFields = true
    case nil:
      if use == .value { readsAllFields = true }
    }
  }
}
