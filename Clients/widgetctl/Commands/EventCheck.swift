import WidgetClient
import WidgetModel

/// Whether an accepted event has a handler. Kinds that declare no events take any name, even a
/// misspelt one.
struct EventCheck: Hashable, Sendable {
  let kind: RegisteredKind
  /// The nodes that the widget shows.
  var nodes: [Node] = []
  /// The events that the kind's bundle handles, besides those in the kind. Nil if no bundle has the
  /// kind.
  var handled: [String]?

  /// The warning about an event that was sent. Nil if the event has a handler, or if this is
  /// unknown.
  static func warning(_ request: SendEventRequest, _ session: Session) async -> RequestWarning? {
    guard
      let widget = try? await session.client.getWidget(
        GetWidgetRequest(id: request.widgetID), options: session.options
      ).widget
    else { return nil }
    let kind: RegisteredKind
    do throws(ClientError) {
      kind = try await session.client.getKind(
        GetKindRequest(name: widget.kind), options: session.options
      ).kind
    } catch {
      guard error.reason == "KIND_NOT_FOUND" else { return nil }
      let registered = (try? await session.kinds().kinds) ?? []
      return unregistered(widget.kind, request.name, among: registered.map(\.kind.name.rawValue))
    }
    if widget.isStale {
      var providers = ProviderFacts()
      await providers.look(for: [widget], session)
      let staleness = providers.staleness(of: widget)
      if let warning = staleness.flatMap({ waiting(request, $0) }) { return warning }
    }
    var check = EventCheck(kind: kind, nodes: widget.content?.nodes ?? [])
    if kind.provider.hasPrefix("bundle/") {
      // The host reports the state of its bundles in widgets that have the providers' names.
      guard let id = WidgetID(kind.provider),
        let bundle = try? await session.client.getWidget(
          GetWidgetRequest(id: id), options: session.options
        ).widget,
        case .map(let all)? = bundle.data["handled"],
        case .list(let names)? = all[widget.kind.rawValue]
      else { return nil }
      check.handled = names.compactMap { if case .string(let name) = $0 { name } else { nil } }
    }
    return check.warning(request.name, of: request.nodeID)
  }

  /// The warning about an event of a widget whose kind nobody has registered.
  static func unregistered(
    _ kind: KindName, _ event: String, among registered: [String]
  ) -> RequestWarning {
    let nearest = kind.rawValue.closest(among: registered)
    let hint =
      nearest.map { "Did you mean the kind \"\($0)\"?" }
      ?? "`widgetctl apply -f FILE` registers a kind."
    var metadata = ["event": event, "kind": kind.rawValue]
    metadata["suggestion"] = nearest
    return RequestWarning(
      reason: "KIND_NOT_REGISTERED",
      message: "The kind \"\(kind)\" is not registered, so only programs that follow its events "
        + "notice the event \"\(event)\". \(hint)",
      metadata: metadata)
  }

  /// The warning about an event that waits for a program. Nil if the program runs or none is
  /// needed.
  static func waiting(_ request: SendEventRequest, _ staleness: Staleness) -> RequestWarning? {
    guard let kind = staleness.kind, !kind.kind.reduces(request), let absence = staleness.absence
    else { return nil }
    let fate =
      kind.kind.hasLosableEvents
      ? "the event is lost for it, because the kind stores no events."
      : "the event is stored, and waits for it."
    let words =
      if staleness.isLeaving {
        "the event is lost with it."
      } else if staleness.lacksFolder {
        "if widgetd-host has read the folder since its start, it runs the event. Otherwise, \(fate)"
      } else {
        fate
      }
    return RequestWarning(
      reason: "PROVIDER_AWAY",
      message: "\(absence.prefix(1).uppercased())\(absence.dropFirst()) now; \(words)",
      metadata: ["kind": kind.kind.name.rawValue, "provider": kind.provider])
  }

  /// The warning about an event. Nil if the event has a handler, or if this is unknown.
  func warning(_ name: String, of nodeID: String) -> RequestWarning? {
    nodeID.isEmpty ? warning(name) : warning(name, ofNode: nodeID)
  }

  /// The warning about an event of a node.
  private func warning(_ name: String, ofNode id: String) -> RequestWarning? {
    // Only the daemon knows nodes that are only in the content for another family.
    guard let node = nodes.first(where: { $0.id == id }), !node.events.contains(name),
      !(handled ?? []).contains(name),
      !kind.kind.reducers.contains(where: {
        $0.event == name && ($0.nodeID.isEmpty || $0.nodeID == id)
      })
    else { return nil }
    var metadata = ["event": name, "kind": kind.kind.name.rawValue, "node": id]
    let hint: String
    if node.events.isEmpty {
      hint = "It takes no events now."
    } else if let near = name.closest(among: node.events) {
      metadata["suggestion"] = near
      hint = "Did you mean \"\(near)\"?"
    } else {
      hint = "It takes: \(node.events.joined(separator: ", "))."
    }
    return RequestWarning(
      reason: "EVENT_NOT_HANDLED",
      message: "Nothing handles the event \"\(name)\" of the node \"\(id)\". \(hint)",
      metadata: metadata)
  }

  /// The maximum number of nodes in a warning. A table can have thousands.
  private static let takersMax = 8

  /// `--node plus, --node minus (disabled)`: the nodes that take an event, those that can take it
  /// now first. Nil if no node takes it.
  private func takers(of name: String) -> String? {
    let takers = nodes.filter { $0.events.contains(name) }
    guard !takers.isEmpty else { return nil }
    let byID = Dictionary(nodes.map { ($0.id, $0) }) { first, _ in first }
    let parents = Dictionary(
      nodes.flatMap { node in node.childIDs.map { ($0, node.id) } }
    ) { first, _ in first }
    /// Whether a property of a node, or of a node around it, is false.
    func isOff(_ property: String, _ node: Node) -> Bool {
      var id: String? = node.id
      // The daemon sends trees. A circle from another program must not make the command hang.
      for _ in nodes {
        guard let known = id, let node = byID[known] else { return false }
        if node.properties[property] == .bool(false) { return true }
        id = parents[known]
      }
      return false
    }
    var groups: (ready: [String], off: [String]) = ([], [])
    for node in takers {
      let option = "--node \(node.id.shellQuoted)"
      if isOff("enabled", node) {
        groups.off.append("\(option) (disabled)")
      } else if isOff("visible", node) {
        groups.off.append("\(option) (hidden)")
      } else {
        groups.ready.append(option)
      }
    }
    let all = groups.ready + groups.off
    let more = all.count - EventCheck.takersMax
    return all.prefix(EventCheck.takersMax).joined(separator: ", ")
      + (more > 0 ? ", and \(more) more" : "")
  }

  /// The warning about an event of the widget itself.
  func warning(_ name: String) -> RequestWarning? {
    let declared = kind.kind.events.map(\.name)
    // If events are declared, the daemon refuses any other.
    guard declared.isEmpty || kind.kind.isOpen else { return nil }
    // The program gets every event, and only the program knows the events that it handles.
    if handled == nil, kind.isAttended { return nil }
    let reduced = kind.kind.reducers.filter(\.nodeID.isEmpty).map(\.event)
    let known = Set(declared + reduced + (handled ?? []))
    guard !known.contains(name) else { return nil }
    var metadata = ["event": name, "kind": kind.kind.name.rawValue]
    let hint: String
    if let takers = takers(of: name) {
      hint = "Its nodes take it: \(takers)"
    } else if let near = name.closest(among: known.union(nodes.flatMap(\.events)).sorted()) {
      metadata["suggestion"] = near
      hint = "Did you mean \"\(near)\"?"
    } else if handled != nil {
      hint =
        "Add it to \"on\" in \(kind.provider.dropFirst("bundle/".count))'s file, or to \"events\"."
    } else {
      hint = "Declare it in \"events\" of the kind."
    }
    let what =
      handled == nil
      ? "Kind \"\(kind.kind.name)\" does not declare the event \"\(name)\", so nothing "
        + "handles it. Only programs that follow its events notice it."
      : "Nothing handles the event \"\(name)\" of kind \"\(kind.kind.name)\"."
    return RequestWarning(
      reason: "EVENT_NOT_HANDLED", message: "\(what) \(hint)", metadata: metadata)
  }
}

extension RequestWarning {
  var document: Value {
    .map([
      "reason": .string(reason), "message": .string(message),
      "metadata": .map(
        ValueMap(metadata.map { ValueMap.Entry(key: $0.key, value: .string($0.value)) })),
    ])
  }
}
