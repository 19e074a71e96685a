import WidgetModel

/// The JSON Schema of bundles.
///
/// It has names, types and required keys. Only the reader checks expressions and unknown names.
public enum BundleSchema {
  public static let id = "urn:widgetd:bundle:1"

  /// The schema as JSON, with a newline at its end.
  public static var text: String { JSONWriter.pretty(document) + "\n" }

  private static var document: OrderedJSON {
    var definitions: [(String, OrderedJSON)] = [
      (
        "duration",
        .object([
          ("description", .string("A duration: 500ms, 5s, 1m30s, 2h.")),
          ("type", .list([.string("string"), .string("integer")])),
          ("pattern", .string("^([0-9]+(\\.[0-9]+)?(ns|us|µs|ms|s|m|h|d))+$|^0$")),
        ])
      ),
      (
        "shift",
        .object([
          ("description", .string("A duration that can be negative: 6h, -30m.")),
          ("type", .list([.string("string"), .string("integer")])),
          ("pattern", .string("^-?([0-9]+(\\.[0-9]+)?(ns|us|µs|ms|s|m|h|d))+$|^0$")),
        ])
      ),
      (
        "text",
        .object([
          ("description", .string("Text. A number or a truth value is taken as it is written.")),
          ("type", .list(["string", "number", "boolean"].map { .string($0) })),
        ])
      ),
      (
        "expression",
        .object([
          ("description", .string("An expression of CEL; a = in front of it is allowed.")),
          ("type", .list(["string", "number", "boolean", "null"].map { .string($0) })),
        ])
      ),
      (
        "template",
        .object([
          (
            "description",
            .string("A value. Text that begins with = is an expression; == means one =.")
          )
        ])
      ),
      (
        "textTemplate",
        .object([
          ("description", .string("Text, or =EXPRESSION that gives text.")),
          ("type", .list(["string", "number", "boolean"].map { .string($0) })),
        ])
      ),
      (
        "fields",
        .object([
          (
            "description", .string("Fields by name, each an object or just its default; or a list.")
          ),
          (
            "oneOf",
            .list([
              .object([
                ("type", .string("object")),
                (
                  "additionalProperties",
                  .object([
                    (
                      "if", .object([("type", .string("object"))])
                    ), ("then", reference("field")),
                  ])
                ),
              ]),
              .object([("type", .string("array")), ("items", reference("field"))]),
            ])
          ),
        ])
      ),
    ]
    for shape in ObjectShape.all { definitions.append((shape.name, schema(of: shape))) }
    return .object([
      ("$schema", .string("https://json-schema.org/draft/2020-12/schema")),
      ("$id", .string(id)),
      ("title", .string("A bundle of widgets, or a set for widgetctl apply")),
      ("if", .object([("required", .list([.string("set")]))])),
      ("then", reference("set")),
      ("else", reference("bundle")),
      ("$defs", .object(definitions)),
    ])
  }

  private static func reference(_ name: String) -> OrderedJSON {
    .object([("$ref", .string("#/$defs/\(name)"))])
  }

  private static func schema(of shape: ObjectShape) -> OrderedJSON {
    var keys: [(String, OrderedJSON)] = [
      ("description", .string(shape.summary)), ("type", .string("object")),
      (
        "properties",
        .object(
          shape.entries.map { key in
            (
              key.name,
              .object([("description", .string(key.summary))] + schema(of: key.type).entries)
            )
          })
      ),
    ]
    let required = shape.entries.filter(\.isRequired).map { OrderedJSON.string($0.name) }
    if !required.isEmpty { keys.append(("required", .list(required))) }
    keys.append(("patternProperties", .object([("^//$", .bool(true))])))
    keys.append(
      ("additionalProperties", shape.others.map { schema(of: $0) } ?? .bool(false)))
    switch shape.name {
    case "node":
      // Text alone is a label.
      return .object([
        ("anyOf", .list([reference("text"), .object(keys)])),
        ("description", .string(shape.summary)),
      ])
    case "step":
      return .object([
        ("description", .string(shape.summary)),
        (
          "anyOf",
          .list([.object([("type", .string("string"))]), .object(keys), reference("action")])
        ),
      ])
    case "event":
      return .object([
        ("description", .string(shape.summary)),
        ("anyOf", .list([.object([("type", .string("null"))]), .object(keys)])),
      ])
    default: return .object(keys)
    }
  }

  private static var familyPattern: String {
    let names = Family.allCases.map(\.name).joined(separator: "|")
    return "^(\\*|(\(names))( *, *(\(names)))*)$"
  }

  private static func schema(of type: KeyType) -> OrderedJSON {
    switch type {
    case .text: reference("text")
    case .bool: .object([("type", .string("boolean"))])
    case .int: .object([("type", .string("integer")), ("minimum", .number(0))])
    case .duration: reference("duration")
    case .shift: reference("shift")
    case .expression: reference("expression")
    case .constant: .object([])
    case .template: reference("template")
    case .textTemplate: reference("textTemplate")
    case .name(let pattern):
      .object([("type", .string("string")), ("pattern", .string(pattern))])
    case .words(["1"]): .object([("const", .number(1))])
    case .words(let words): .object([("enum", .list(words.map { .string($0) }))])
    case .list(let type):
      .object([("type", .string("array")), ("items", schema(of: type))])
    case .map(let type):
      .object([
        ("type", .string("object")), ("patternProperties", .object([("^//$", .bool(true))])),
        ("additionalProperties", schema(of: type)),
      ])
    case .byFamily(let type):
      .object([
        ("type", .string("object")),
        (
          "patternProperties",
          .object([("^//$", .bool(true)), (familyPattern, schema(of: type))])
        ), ("additionalProperties", .bool(false)),
      ])
    case .shape(let name): reference(name)
    case .any(let types): .object([("anyOf", .list(types.map { schema(of: $0) }))])
    }
  }
}
