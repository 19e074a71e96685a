import WidgetExpression
import WidgetModel

/// A widget's data or parameters for expressions: the values of the record, with later changes. An
/// evaluation reads only the keys that it needs, so it costs what it reads, whatever the size of
/// the record.
///
/// It exists only during an evaluation, on the thread that owns the store. Results are stored as
/// values. So nothing else reads it, although expressions may go to other threads (`@unchecked`).
final class RecordMap: ExpressionObject, @unchecked Sendable {
  let base: RevisedMap
  /// New values, by declared names; nil for removed.
  let changed: [String: Value?]

  init(_ base: RevisedMap, changed: [String: Value?] = [:]) {
    self.base = base
    self.changed = changed
  }

  var fieldNames: [String] {
    var names = base.keys.filter { isUnchanged($0) }
    for (name, value) in changed where value != nil { names.append(name) }
    return names.sorted { $0.precedesByBytes($1) }
  }

  func field(named name: String) -> ExpressionValue? {
    if !isUnchanged(name), let value = changed[name] { return value.map { ExpressionValue($0) } }
    return base[name].map { ExpressionValue($0) }
  }

  private func isUnchanged(_ name: String) -> Bool {
    // A dictionary treats canonically equivalent keys as one.
    changed.index(forKey: name).map { !changed[$0].key.hasSameBytes(as: name) } ?? true
  }
}

/// The variable `widget`: the properties of a widget that expressions can read beside its maps.
enum WidgetVariable {
  private static let fields: [String: ExpressionType] = [
    "id": .string, "kind": .string, "family": .string, "labels": .map(.string, .string),
    "visible": .bool, "enabled": .bool, "activity": activity,
  ]
  private static let activity = ExpressionType.record(
    RecordType([
      "state": .string, "started": .timestamp, "expires": .timestamp, "ended": .timestamp,
    ]))

  static let type = ExpressionType.record(RecordType(fields))
  /// For selectors: the fields and also `stale` and `error`. Content and reducers must not depend
  /// on those two.
  static let typeWithState = ExpressionType.record(
    RecordType(fields.merging(["stale": .bool, "error": .string]) { own, _ in own }))

  /// The variable for content of a family.
  static func value(of record: Record, as family: Family) -> ExpressionValue {
    var map = map(record)
    if family != record.family { map["family"] = .string(family.name) }
    return ExpressionValue(map)
  }

  static func value(of record: Record) -> ExpressionValue { ExpressionValue(map(record)) }

  static func valueWithState(of record: Record) -> ExpressionValue {
    var map = map(record)
    map["stale"] = .bool(record.isStale)
    map["error"] = .string(record.error?.reason ?? "")
    return ExpressionValue(map)
  }

  private static func map(_ record: Record) -> ValueMap {
    let labels = record.labels.entries.map {
      ValueMap.Entry(key: $0.key, value: .string($0.value))
    }
    // In the order of a map, which then need not be sorted.
    var map: ValueMap = [
      "enabled": .bool(record.presence.isEnabled), "family": .string(record.family.name),
      "id": .string(record.id.rawValue), "kind": .string(record.kind.rawValue),
      "labels": .map(ValueMap(labels)), "visible": .bool(record.presence.isVisible),
    ]
    if let activity = record.activity { map["activity"] = .map(values(activity)) }
    return map
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
