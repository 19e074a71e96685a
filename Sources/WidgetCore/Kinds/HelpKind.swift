import WidgetModel

/// The kind that explains kinds: built in, and filled by the daemon.
///
/// A widget of kind `help` with the parameter `kind` shows the declaration of that kind, and
/// follows its changes. So any renderer can show the documentation of the installed kinds.
enum HelpKind {
  static let name = KindName.help

  static let schema = KindSchema(
    Kind(
      name: name, displayName: "Help",
      summary: "Explains a kind: what it shows, its parameters, data and events.",
      parameters: [
        Field(
          name: "kind", type: .string, defaultValue: .string("help"),
          summary: "The kind to explain.")
      ],
      data: [
        Field(name: "kind", type: .string, summary: "The kind's name."),
        Field(
          name: "known", type: .bool, defaultValue: .bool(false),
          summary: "Whether the kind exists."),
        Field(name: "display_name", type: .string, summary: "What people call it."),
        Field(name: "description", type: .string, summary: "What it is for."),
        Field(name: "provider", type: .string, summary: "Whose it is."),
        Field(
          name: "families", type: .list(.string),
          summary: "The families that it supports; empty for all."),
        Field(
          name: "parameters", type: .list(.map(.any)),
          summary: "Its parameters: name, type, description, required, default."),
        Field(name: "data", type: .list(.map(.any)), summary: "Its data, described likewise."),
        Field(
          name: "events", type: .list(.map(.any)),
          summary: "Its events: name, description, payload."),
      ], content: content))

  /// The kind that a help widget explains.
  static func subject(_ parameters: ValueMap, field: String) throws(StoreError) -> KindName {
    if case .string(let text) = parameters["kind"] ?? .null, let name = KindName(text) {
      return name
    }
    throw .invalid(
      field: "\(field)[kind]", description: "Name the kind to explain, for example \"help\".")
  }

  static func ownData(field: String) -> StoreError {
    .invalid(
      field: field,
      description: "The daemon fills widgets of kind \"help\" itself; set the parameter \"kind\".")
  }

  /// The depth of a default value in the data of a help widget.
  static let depth = 4

  /// The data of a help widget.
  static func data(about registered: RegisteredKind?) -> ValueMap {
    guard let registered else { return ["known": .bool(false)] }
    let kind = registered.kind
    return [
      "kind": .string(kind.name.rawValue), "known": .bool(true),
      "display_name": .string(kind.displayName.isEmpty ? kind.name.rawValue : kind.displayName),
      "description": .string(kind.summary), "provider": .string(registered.provider),
      "families": .list(kind.families.map { .string($0.name) }),
      "parameters": .list(kind.parameters.map(describe)), "data": .list(kind.data.map(describe)),
      "events": .list(
        kind.events.map { event in
          .map([
            "name": .string(event.name), "description": .string(event.summary),
            "payload": .list(event.payload.map(describe)),
          ])
        }),
    ]
  }

  private static func describe(_ field: Field) -> Value {
    var map: ValueMap = [
      "name": .string(field.name), "type": .string("\(field.type)"),
      "description": .string(field.summary), "required": .bool(field.isRequired),
    ]
    if let value = field.defaultValue { map["default"] = value }
    return .map(map)
  }
}
