import WidgetExpression
import WidgetModel

/// A widget's data or parameters for expressions: the values of the record, with later changes. An
/// evaluation reads only the keys that it needs, so it costs what it reads, whatever the size of
/// the record.
///
/// It exists only during an evaluation, on the thread that owns the store. Results are stored as
/// values, and changes come between evaluations. So nothing else reads it, although expressions may
/// go to other threads (`@unchecked`).
final class RecordMap: ExpressionObject, @unchecked Sendable {
  private let base: RevisedMap
  /// New values, by declared names; nil for removed.
  private var changed: [String: Value?] = [:]
  /// The length of the longest name in `changed`.
  private var changedBytesMax = 0
  private(set) var fieldCount: Int

  init(_ base: RevisedMap) {
    self.base = base
    fieldCount = base.liveCount
  }

  /// Changes a value, or removes it. O(log(keys)).
  func change(_ name: String, to value: Value?) {
    let had = changed.index(forKey: name).map { changed[$0].value != nil } ?? (base[name] != nil)
    changed.updateValue(value, forKey: name)
    changedBytesMax = max(changedBytesMax, name.utf8.count)
    fieldCount += (value != nil ? 1 : 0) - (had ? 1 : 0)
  }

  /// A key that was removed, but not yet forgotten, costs an eighth of a name.
  var fieldNamesCost: Int {
    base.liveCount + changed.count + (base.slots.count - base.liveCount) / 8
  }

  var fieldNames: [String] {
    let kept = base.keys
    guard !changed.isEmpty else { return kept }
    let added = changed.filter { $0.value != nil }.keys.sorted { $0.precedesByBytes($1) }
    var names: [String] = []
    names.reserveCapacity(kept.count + added.count)
    var next = added.startIndex
    for name in kept where isUnchanged(name) {
      while next < added.endIndex, added[next].precedesByBytes(name) {
        names.append(added[next])
        next += 1
      }
      names.append(name)
    }
    return names + added[next...]
  }

  func field(named name: String) -> ExpressionValue? {
    if !isUnchanged(name), let value = changed[name] { return value.map { ExpressionValue($0) } }
    return base[name].map { ExpressionValue($0) }
  }

  private func isUnchanged(_ name: String) -> Bool {
    // An expression can look up any text, and the hash of a long text takes long.
    guard name.utf8.count <= changedBytesMax else { return true }
    // A dictionary treats canonically equivalent keys as one.
    return changed.index(forKey: name).map { !changed[$0].key.hasSameBytes(as: name) } ?? true
  }
}

extension WidgetVariable {
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
    values(
      id: record.id, kind: record.kind, family: record.family, labels: record.labels,
      presence: record.presence, activity: record.activity)
  }
}
