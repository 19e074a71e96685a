import WidgetExpression
import WidgetModel

/// The variable `entry`: the current entry of a widget's timeline or schedule.
enum EntryVariable {
  static let name = "entry"

  static func type(_ kind: Kind) -> ExpressionType {
    let own = [Field(name: "date", type: .timestamp), Field(name: "score", type: .double)]
    return .record(RecordType(own + kind.entry, isOpen: kind.isOpen))
  }

  /// The entry of a widget. Before the first entry, it has no fields.
  static func value(of record: Record) -> ExpressionValue {
    guard let entry = record.moment?.status.current else { return ExpressionValue([:] as ValueMap) }
    var map = entry.values
    map["date"] = .timestamp(entry.date)
    map["score"] = .double(entry.score)
    return ExpressionValue(map)
  }
}
