import WidgetModel

/// The kinds that every daemon has.
enum BuiltInKind {
  static let provider = "widgetd"

  static let all = [HelpKind.schema, ActivityKind.schema, SmartStackKind.schema].map {
    RegisteredKind(kind: $0.kind, provider: provider)
  }

  /// The kind of this name, if it is built in.
  static func named(_ name: KindName) -> RegisteredKind? { all.first { $0.kind.name == name } }
}
