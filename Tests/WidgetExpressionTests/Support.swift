import WidgetModel

@testable import WidgetExpression

/// The environment of most tests: a widget's variables, and the system's time zones.
enum Sample {
  static let environment = ExpressionEnvironment(
    variables: [
      ExpressionVariable(
        "data",
        .record(
          RecordType([
            "load": .list(.double), "name": .string, "cpu": .map(.string, .double),
            "items": .anyList, "disk-free": .int,
          ]))),
      ExpressionVariable("parameters", .record(RecordType(["cpus": .int, "key": .string]))),
      ExpressionVariable("theme", .map(.string, .dyn)),
      ExpressionVariable("event", .dyn),
      ExpressionVariable("now", .timestamp),
    ], timeZones: ZoneFiles.rules)

  static let data: ValueMap = [
    "load": .list([.double(1.5), .double(2)]), "name": .string("web"),
    "cpu": .map(["total": .double(0.5), "user": .double(0.25)]),
    "items": .list([.map(["n": .int(2)]), .map(["n": .int(1)])]), "disk-free": .int(7),
  ]

  static let bindings: [String: ExpressionValue] = [
    "data": ExpressionValue(data),
    "parameters": ExpressionValue(["cpus": .int(4), "key": .string("total")]),
    "theme": ExpressionValue(["accent": .string("#f80")]), "event": ExpressionValue(["x": .int(1)]),
    // 2026-11-21T14:30:00Z
    "now": .timestamp(Timestamp(nanosecondsSinceEpoch: 1_795_271_400_000_000_000)),
  ]

  static func value(_ source: String) throws -> ExpressionValue {
    try CompiledExpression(source, in: environment).evaluate(bindings)
  }

  /// The reason of the failure when it is loaded or evaluated, or nil.
  static func reason(_ source: String, in environment: ExpressionEnvironment = environment)
    -> String?
  {
    do {
      _ = try CompiledExpression(source, in: environment).evaluate(bindings)
      return nil
    } catch let error as ExpressionError {
      return error.reason.rawValue
    } catch let error as EvaluationError {
      return error.reason.rawValue
    } catch {
      return "\(error)"
    }
  }
}
