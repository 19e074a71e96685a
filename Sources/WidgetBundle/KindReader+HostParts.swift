/// The parts of handlers that need a host, for files that have none.
extension KindReader {
  /// Reports the part of a handler that needs a host.
  ///
  /// - Parameter hasMistake: whether the handler has a mistake. Its steps are incomplete then, so
  ///   only a key can show that it needs a host.
  func reportNeedsHost(
    _ item: Item, _ steps: [Step], _ when: Trigger.When, hasMistake: Bool
  ) {
    if let key = KindReader.hostKey(item, when) {
      reading.reportNeedsHost(item, "\"\(key)\"")
    } else if !hasMistake {
      let isAction = steps.contains { if case .action = $0 { true } else { false } }
      reading.reportNeedsHost(
        item,
        isAction
          ? "an \"if\" over several steps"
          : "an expression that reads more than data, parameters, event, nodes, widget and now")
    }
  }

  /// The first key of a handler that only a host knows. Nil if there is none.
  private static func hostKey(_ item: Item, _ when: Trigger.When) -> String? {
    switch when {
    case .load: return "load"
    case .every: return "every"
    case .event: break
    }
    let own = Set(["throttle", "minLength"])
    let keys = Set(ObjectShape.action.keys + verbs).union(own).subtracting(["do", "if"])
    var found: String?
    func look(_ node: SourceNode) {
      switch node.content {
      case .scalar: break
      case .list(let elements): elements.forEach(look)
      case .map(let entries):
        found = found ?? entries.first { keys.contains($0.key) }?.key
        for entry in entries where entry.key == "do" { look(entry.value) }
      }
    }
    look(item.node)
    return found
  }
}
