import WidgetModel

/// Which keys the objects of a bundle have: the one list that the reader goes by, and that the JSON
/// Schema and the reference are checked against.
public struct ObjectShape: Hashable, Sendable {
  /// What the schema calls it (`$defs/NAME`).
  public let name: String
  /// In the order in which people would write them.
  public let keys: [String]
  /// Whether it has keys beside these: names of the bundle's own.
  public let isOpen: Bool

  private init(_ name: String, _ keys: [String], isOpen: Bool = false) {
    self.name = name
    self.keys = keys
    self.isOpen = isOpen
  }

  /// A key that every object may have, for remarks in JSON. What it says is not read.
  public static let remark = "//"

  public static let bundle = ObjectShape(
    "bundle",
    [
      "$schema", "bundle", "format", "version", "name", "description", "permissions", "kinds",
      "widgets",
    ])
  public static let permissions = ObjectShape("permissions", ["read", "hosts", "commands"])
  public static let kind = ObjectShape(
    "kind",
    [
      "name", "displayName", "description", "families", "persistence", "transition", "open",
      "parameters", "data", "events", "reducers", "content", "sources", "actions", "on",
    ])
  public static let field = ObjectShape(
    "field", ["name", "type", "default", "description", "required"])
  public static let event = ObjectShape("event", ["name", "description", "payload"])
  public static let reducer = ObjectShape(
    "reducer", ["event", "nodeId", "condition", "set", "unset"])
  public static let node = ObjectShape(
    "node",
    ["type", "id", "if", "rows", "children", "on"] + NodeType.allCases.map(\.name)
      + nodeProperties)
  public static let binding = ObjectShape(
    "binding", ["value", "from", "if", "then", "else", "format", "placeholder"])
  public static let rows = ObjectShape("rows", ["list", "as", "key"])
  public static let source = ObjectShape(
    "source",
    [
      "file", "http", "command", "timer", "value", "every", "aligned", "start", "when", "parse",
      "set", "stub", "input", "timeout", "lines",
    ])
  public static let http = ObjectShape(
    "http",
    [
      "method", "url", "path", "query", "headers", "json", "form", "multipart", "text",
      "contentType", "timeout",
    ])
  public static let part = ObjectShape("part", ["value", "file", "contentType"])
  public static let parse = ObjectShape("parse", ["format", "shape", "path", "errorPath"])
  public static let action = ObjectShape(
    "action",
    [
      "require", "if", "else", "delay", "optimistic", "do", "then", "catch", "title", "message",
    ])
  public static let handler = ObjectShape("handler", ["throttle", "minLength"] + action.keys)
  public static let require = ObjectShape("require", ["if", "code", "message"])
  public static let step = ObjectShape(
    "step",
    [
      "set", "unset", "http", "command", "input", "timeout", "parse", "stub", "show", "hide",
      "enable", "disable", "toggle", "reload", "emit", "widget", "payload", "run", "cancel",
    ])
  public static let on = ObjectShape("on", ["load", "every"], isOpen: true)
  public static let every = ObjectShape("every", ["interval", "do"])
  public static let widget = ObjectShape(
    "widget",
    ["id", "kind", "family", "labels", "visible", "enabled", "parameters", "data"])

  public static let all = [
    bundle, permissions, kind, field, event, reducer, node, binding, rows, source, http, part,
    parse,
    action, handler, require, step, on, every, widget,
  ]

  /// What nodes can have, of whatever type; also `maxLength`, which only a form's field has.
  private static let nodeProperties: [String] = {
    var names: [String] = []
    let all = NodeType.common + NodeType.allCases.flatMap(\.properties)
    for name in all.map(\.name) + ["maxLength"] where !names.contains(name) { names.append(name) }
    let taken = Set(NodeType.allCases.map(\.name))
    return names.filter { !taken.contains($0) }
  }()
}
