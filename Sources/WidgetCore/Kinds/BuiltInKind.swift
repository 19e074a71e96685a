import WidgetModel

/// The kinds that every daemon has.
enum BuiltInKind {
  static let provider = "widgetd"

  static let all = [HelpKind.schema, ActivityKind.schema, SmartStackKind.schema].map {
    RegisteredKind(kind: $0.kind, provider: provider)
  }

  private static let names: [KindName] = [.help, .activity, .smartStack]

  /// Whether a kind of this name is built in.
  static func isBuiltIn(_ name: KindName) -> Bool { names.contains(name) }

  /// The kind of this name, if it is built in.
  static func named(_ name: KindName) -> RegisteredKind? {
    isBuiltIn(name) ? all.first { $0.kind.name == name } : nil
  }

  /// The schema of this name, if it is built in. For `help`, see `HelpKind`.
  static func schema(of name: KindName) -> KindSchema? {
    // Each change of a widget asks for its kind, and most kinds are not built in. Lengths are compared
    // faster than texts.
    switch name.rawValue.utf8.count {
    case 8 where name == .activity: ActivityKind.schema
    case 11 where name == .smartStack: SmartStackKind.schema
    default: nil
    }
  }
}
