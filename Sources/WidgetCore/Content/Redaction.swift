import WidgetModel

/// The rules of a redacted view, such as a locked screen.
///
/// A node with `privacy` becomes a label of fixed length, without the nodes in it. All other text
/// is for everybody. The view does not have the sources of the content, because private nodes may
/// show them: data, parameters, labels, values of entries, messages of errors, and problems, which
/// quote values. Ids of nodes in a row have the row's key, so rows with private nodes are numbered
/// instead.
///
/// A reader asks for this view. It does not protect the data from that reader.
enum Redaction {
  /// The text of a private node.
  static let text = "\u{2592}\u{2592}\u{2592}\u{2592}\u{2592}\u{2592}"

  static func isPrivate(_ node: Node) -> Bool { node.properties["privacy"] == .bool(true) }

  static func withoutProblem(_ node: Node) -> Node {
    var node = node
    (node.problem, node.problemSince) = ("", nil)
    return node
  }

  /// A content without its private parts. O(nodes).
  static func redacted(_ content: Content) -> Content {
    let nodes = content.nodes
    let privateRows = Set(nodes.lazy.filter(isPrivate).flatMap { rowPaths(of: $0.id) })
    let byID = Dictionary(nodes.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    var numbers: [String: Int] = [:]
    func publicID(_ id: String) -> String {
      guard let path = rowPaths(of: id).last, !privateRows.isDisjoint(with: rowPaths(of: id)) else {
        return id
      }
      let number = numbers[path] ?? numbers.count + 1
      numbers[path] = number
      return "\(id.prefix { $0 != "/" })/:\(number)"
    }
    var result: [Node] = []
    var waiting = [content.rootID]
    while let id = waiting.popLast() {
      guard let node = byID[id] else { continue }
      let shownID = publicID(id)
      guard !isPrivate(node) else {
        result.append(hidden(node, id: shownID))
        continue
      }
      var shown = withoutProblem(node)
      shown.id = shownID
      // Only this view numbers rows, so an event could not name the node by this id.
      if shownID != id { shown.events = [] }
      shown.childIDs = node.childIDs.map(publicID)
      if node.role == .form, holdsPrivate(node, byID) {
        // The inputs of the form have no values, so nobody can submit the form.
        (shown.type, shown.events) = (.stack, [])
        for name in ["submit", "text"] { shown.properties[name] = nil }
      }
      if shown.childIDs != node.childIDs
        || node.childIDs.contains(where: { byID[$0].map(isPrivate) ?? false })
      {
        shown.properties["selected"] = nil
        shown.properties["accessory"] = nil
      }
      result.append(shown)
      waiting += node.childIDs.reversed()
    }
    return Content(rootID: result.first?.id ?? "", nodes: result)
  }

  /// Whether a node has a private node in it. O(nodes in it).
  private static func holdsPrivate(_ node: Node, _ byID: [String: Node]) -> Bool {
    var waiting = node.childIDs
    while let id = waiting.popLast() {
      guard let child = byID[id] else { continue }
      if isPrivate(child) { return true }
      waiting += child.childIDs
    }
    return false
  }

  /// The replacement of a private node.
  private static func hidden(_ node: Node, id: String) -> Node {
    var properties: ValueMap = ["text": .string(text), "privacy": .bool(true)]
    if node.properties["visible"] == .bool(false) { properties["visible"] = .bool(false) }
    return Node(id: id, type: .label, properties: properties)
  }

  /// The parts of an id that name rows, the outermost first: `/a`, `/a/b`.
  private static func rowPaths(of id: String) -> [String] {
    guard let start = id.utf8.firstIndex(of: UInt8(ascii: "/")) else { return [] }
    let path = id[start...]
    var paths: [String] = []
    var index = path.startIndex
    while index < path.endIndex {
      let next = path.index(after: index)
      if path[index] == "/", index > path.startIndex { paths.append(String(path[..<index])) }
      if path[index...].hasPrefix(NodeID.embedSeparator) {
        paths.append(String(path[..<index]))
        index = path.index(after: next)
        continue
      }
      index = next
    }
    paths.append(String(path))
    return paths
  }

  /// The content of a widget whose kind is not registered, without its data.
  static func plainContent(of record: Record) -> Content {
    Content(
      rootID: "kind",
      nodes: [
        Node(
          id: "kind", type: .label,
          properties: ["text": .string("The kind \"\(record.kind)\" is not registered.")])
      ])
  }

  static func redacted(_ status: TimelineStatus?) -> TimelineStatus? {
    guard var status else { return nil }
    status.current?.values = [:]
    // A redacted view shows that there is a problem. The words can have private values.
    if !status.problem.isEmpty { status.problem = "The timeline has a problem." }
    return status
  }

  static func redacted(_ error: WidgetError?) -> WidgetError? {
    guard let error else { return nil }
    return WidgetError(
      joining: error.all.map { WidgetError(reason: $0.reason, message: "", since: $0.since) })
  }
}

extension Record {
  /// The record as a widget in a redacted view.
  func redactedWidget(_ reader: ContentReader) -> Widget {
    Widget(
      id: id, kind: kind, family: family, presence: presence, position: position,
      isStale: isStale, error: Redaction.redacted(error), createdRevision: createdRevision,
      revision: revision, createTime: createTime, updateTime: updateTime, ownerUID: ownerUID,
      applySet: applySet, content: reader.content(of: self),
      timeline: Redaction.redacted(moment?.status), activity: activity)
  }

  /// Adds the other parts of a redacted view to an update.
  func redact(_ update: inout WidgetUpdate, since cursor: Revision) {
    if statusRevision > cursor {
      update.isStale = isStale
      update.error = .some(Redaction.redacted(error))
      update.family = family
      update.applySet = applySet
      update.activity = activity
    }
    if momentRevision > cursor { update.timeline = .some(Redaction.redacted(moment?.status)) }
  }
}
