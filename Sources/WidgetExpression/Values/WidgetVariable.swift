public import WidgetModel

/// The variable `widget` of expressions: the properties of a widget beside its maps. The daemon, the
/// reader of files and the host of bundles have the same ones.
public enum WidgetVariable {
  public static let fields: [String: ExpressionType] = [
    "id": .string, "kind": .string, "family": .string, "labels": .map(.string, .string),
    "visible": .bool, "enabled": .bool, "activity": activity,
  ]
  /// Absent if the widget is not an activity.
  private static let activity = ExpressionType.record(
    RecordType([
      "state": .string, "started": .timestamp, "expires": .timestamp, "ended": .timestamp,
    ]))

  public static let type = ExpressionType.record(RecordType(fields))

  /// The values for a widget. O(labels).
  public static func values(
    id: WidgetID, kind: KindName, family: Family, labels: Labels, presence: Presence,
    activity: Activity?
  ) -> ValueMap {
    let labels = labels.entries.map { ValueMap.Entry(key: $0.key, value: .string($0.value)) }
    // The fields are in the order of a map, so that the map need not be sorted.
    var map: ValueMap = [
      "enabled": .bool(presence.isEnabled), "family": .string(family.name),
      "id": .string(id.rawValue), "kind": .string(kind.rawValue), "labels": .map(ValueMap(labels)),
      "visible": .bool(presence.isVisible),
    ]
    if let activity { map["activity"] = .map(values(activity)) }
    return map
  }

  public static func values(of widget: Widget) -> ValueMap {
    values(
      id: widget.id, kind: widget.kind, family: widget.family, labels: widget.labels,
      presence: widget.presence, activity: widget.activity)
  }

  private static func values(_ activity: Activity) -> ValueMap {
    var map: ValueMap = [
      "expires": .timestamp(activity.expireTime), "started": .timestamp(activity.startTime),
      "state": .string(activity.state.name),
    ]
    if let time = activity.endTime { map["ended"] = .timestamp(time) }
    return map
  }
}
