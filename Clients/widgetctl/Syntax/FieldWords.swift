/// Names of fields in the words of the command line: `data.n`, not `patch.set_data[n]`.
enum FieldWords {
  /// The options and arguments that set a field of a request.
  private static let options = [
    "selector.expression": "--where", "request_id": "--request-id", "node_id": "--node",
    "error.reason": "--error", "unset_data": "--unset", "unset_parameters": "--unset-param",
    "unset_labels": "--unset-label", "set_data": "data", "set_parameters": "parameters",
    "set_labels": "labels",
  ]
  /// Maps of the protocol, and what begins the name of an element.
  private static let maps = [
    "payload[values]": "--value ", "payload": "", "release": "--release", "set_data": "data.",
    "data": "data.", "set_parameters": "parameters.", "parameters": "parameters.",
    "set_labels": "labels.", "labels": "labels.",
  ]

  /// - Parameter field: the path of a field in a request, as the daemon names it. A path without
  ///   other words stays as it is.
  static func asTyped(_ field: String) -> String {
    let messages = ["patch.", "widget."]
    let message = messages.first { field.hasPrefix($0) } ?? ""
    let path = String(field.dropFirst(message.count))
    if let option = options[path] { return option }
    // Lists of a file keep their places: `widgets[1].data[n]`.
    guard path.hasSuffix("]"), let start = path.lastIndex(of: "["),
      let prefix = maps[String(path[..<start])]
    else { return field }
    let name = path[path.index(after: start)...].dropLast()
    return prefix.hasPrefix("--") && !prefix.hasSuffix(" ") ? prefix : prefix + name
  }
}
