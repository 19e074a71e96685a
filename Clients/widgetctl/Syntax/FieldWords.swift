import WidgetProto

/// The name of a request's field on the command line.
///
/// The daemon names the fields of the protocol, such as `selector.expression`. Users have typed
/// `--where`.
enum FieldWords {
  /// The words for a field; the field itself if it has no argument.
  static func typed(_ field: String) -> String {
    if let words = whole[field] { return words }
    // The key is a number, which has no meaning in a typed path.
    if field.hasPrefix("patch.release[") { return "--release" }
    if field.hasPrefix("payload[values]") {
      return typed("values" + field.dropFirst("payload[values]".count))
    }
    let head = field.prefix { $0 != "[" }
    let key = field.dropFirst(head.count).dropFirst().prefix { $0 != "]" }
    let rest = field.dropFirst(head.count + key.count + 2)
    guard !key.isEmpty, let words = keyed[String(head)] else { return field }
    return "\(words) \(String(key).onOneLine)\(rest)"
  }

  /// The text with the words for each field that it names at the start of a line.
  static func typed(_ text: String, of violations: [FieldViolation]) -> String {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
      .map { line -> String in
        for violation in violations {
          let start = violation.field + ": "
          let content = line.drop { $0 == " " }
          guard content.hasPrefix(start) else { continue }
          let indent = line.prefix(line.count - content.count)
          return indent + "\(typed(violation.field)): \(content.dropFirst(start.count))"
        }
        return String(line)
      }
    return lines.joined(separator: "\n")
  }

  private static let whole = [
    "dismiss_after": "--dismiss",
    "family": "--family",
    "lifetime": "--lifetime",
    "min_interval": "--min-interval",
    "name": "the event's name",
    "node_id": "the node",
    "parameters": "--set",
    "patch.set_data": "data",
    "patch.set_labels": "--label",
    "patch.set_parameters": "--param",
    "payload": "the event's fields",
    "request_id": "--request-id",
    "selector.expression": "--where",
    "selector.labels": "--selector",
    "stale_after": "--stale-after",
    "widget.data": "data",
    "widget.kind": "the kind",
    "widget.labels": "--label",
    "widget.parameters": "--param",
    "widget_id": "the id",
  ]
  private static let keyed = [
    // The field of a snapshot. Widgets have it in `widget` or `patch`.
    "parameters": "--set",
    "patch.set_data": "data",
    "patch.set_labels": "--label",
    "patch.set_parameters": "--param",
    "payload": "the event's field",
    "selector.labels": "--selector",
    "values": "the form's value",
    "widget.data": "data",
    "widget.labels": "--label",
    "widget.parameters": "--param",
  ]
}
