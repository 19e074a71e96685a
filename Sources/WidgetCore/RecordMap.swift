import WidgetExpression
import WidgetModel

/// A widget's data or parameters as expressions read them: as they are in the record, with what has
/// changed since. What is not read is not looked at, so an evaluation costs what it reads, not what
/// there is.
///
/// It is made for an evaluation and gone after it, on the thread that owns the store: what is stored of a
/// result are values. So nobody else reads it, though expressions may go anywhere (`@unchecked`).
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
    // A dictionary takes keys that only look alike for one.
    changed.index(forKey: name).map { !changed[$0].key.hasSameBytes(as: name) } ?? true
  }
}

/// The variable `widget`: what expressions can read of a widget beside its maps.
enum WidgetVariable {
  static let type = ExpressionType.record(
    RecordType([
      "id": .string, "kind": .string, "family": .string, "labels": .map(.string, .string),
      "visible": .bool, "enabled": .bool,
    ]))

  static func value(of record: Record) -> ExpressionValue {
    let labels = record.labels.entries.map {
      ValueMap.Entry(key: $0.key, value: .string($0.value))
    }
    return ExpressionValue(
      [
        "id": .string(record.id.rawValue), "kind": .string(record.kind.rawValue),
        "family": .string(record.family.name), "labels": .map(ValueMap(labels)),
        "visible": .bool(record.presence.isVisible), "enabled": .bool(record.presence.isEnabled),
      ] as ValueMap)
  }
}
