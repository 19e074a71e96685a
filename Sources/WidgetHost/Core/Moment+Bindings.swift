import WidgetBundle
import WidgetExpression
import WidgetModel

/// The values of a moment, made when an expression asks for them.
struct MomentBindings: ExpressionBindings {
  let moment: BundleScope.Moment
  /// The names whose state `status` always has.
  let statusNames: [String]

  func value(of name: String, slot: Int) -> ExpressionValue? {
    let widget = moment.widget
    switch name {
    case "data": return ExpressionValue(widget.data)
    case "parameters": return ExpressionValue(widget.parameters)
    case "status": return ExpressionValue(status)
    case "widget":
      return ExpressionValue([
        "id": .string(widget.id.rawValue), "kind": .string(widget.kind.rawValue),
        "family": .string(widget.family.name),
        "labels": .map(
          ValueMap(widget.labels.entries.map { .init(key: $0.key, value: .string($0.value)) })),
        "visible": .bool(widget.presence.isVisible), "enabled": .bool(widget.presence.isEnabled),
      ])
    case "event":
      return ExpressionValue([
        "name": .string(moment.event?.name ?? ""),
        "node": .string(moment.event.map { NodeAddress($0.nodeID).node } ?? ""),
        "row": .string(moment.row), "payload": .map(moment.event?.payload ?? [:]),
        "time": .timestamp(moment.event?.time ?? .epoch),
      ])
    case "result": return ExpressionValue(moment.result)
    case "error":
      return ExpressionValue([
        "code": .string(moment.error?.code ?? ""), "title": .string(moment.error?.title ?? ""),
        "message": .string(moment.error?.message ?? ""),
      ])
    case "now": return .timestamp(moment.now)
    case "bundle":
      return ExpressionValue([
        "id": .string(moment.bundleID), "version": .string(moment.bundleVersion),
      ])
    default: return nil
    }
  }

  private var status: ValueMap {
    let idle = ActionStatus().value
    var status = ValueMap(statusNames.map { .init(key: $0, value: idle) })
    if case .map(let known)? = moment.widget.data["status"] {
      for entry in known.entries { status[entry.key] = entry.value }
    }
    return status
  }
}

/// The name of a node as events have it: the template's id, and in rows the row's key behind it.
struct NodeAddress: Hashable {
  static let separator: Character = ":"

  let node: String
  /// Empty outside of rows.
  let row: String

  init(_ nodeID: String) {
    let parts = nodeID.split(
      separator: NodeAddress.separator, maxSplits: 1, omittingEmptySubsequences: false)
    node = String(parts[0])
    row = parts.count > 1 ? String(parts[1]) : ""
  }
}
