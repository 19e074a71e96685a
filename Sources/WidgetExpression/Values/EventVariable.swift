/// The variable `event` of expressions. The daemon, the reader of files and `widgetctl eval` have the
/// same one.
public enum EventVariable {
  /// - Parameter payload: the type of the event's details.
  public static func type(payload: ExpressionType) -> ExpressionType {
    .record(
      RecordType([
        "name": .string, "node": .string, "row": .string, "rows": .list(.string),
        "payload": payload, "time": .timestamp,
      ]))
  }
}
