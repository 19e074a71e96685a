import WidgetModel

/// The next step for an unknown key of an object.
extension Reading {
  func hint(forKey key: String, of shape: ObjectShape) -> String {
    if let home = shape.home(of: key) { return "\"\(key)\" is a key of \"\(home)\"" }
    if let replacement = shape.replacement(of: key) { return "write \"\(replacement)\" instead" }
    guard key.closest(among: shape.keys) == nil, let owners = shape.otherOwners(of: key) else {
      return suggestion(key, among: shape.keys)
    }
    return "\"\(key)\" is a key of \(owners)"
  }
}

extension ObjectShape {
  /// Keys of other objects, and of other engines for declarative widgets (docs/decisions/0025), with
  /// the key that has this purpose here.
  private static let replacements: [String: [String: String]] = [
    "action": ["condition": "if", "when": "if"],
    "handler": ["condition": "if", "when": "if"],
    "node": ["autoValue": "value", "condition": "if", "when": "if"],
    "permissions": [
      "exec": "commands", "files": "read", "http": "hosts", "network": "hosts",
      "programs": "commands", "run": "commands", "urls": "hosts",
    ],
    "reducer": ["if": "condition", "when": "condition"],
    "source": [
      "condition": "when", "exec": "command", "if": "when", "program": "command",
      "run": "command", "url": "http",
    ],
  ]

  fileprivate func replacement(of key: String) -> String? {
    ObjectShape.replacements[name]?[key]
  }

  /// The objects at other levels that have a key of this name: `a source`, `an action or a step`.
  /// Nil if no object has it, or if more than two have it.
  fileprivate func otherOwners(of key: String) -> String? {
    var owners = ObjectShape.all.filter { $0.name != name && $0.keys.contains(key) }
    // A handler has the keys of an action.
    if owners.contains(where: { $0.name == "action" }) { owners.removeAll { $0.name == "handler" } }
    guard (1...2).contains(owners.count) else { return nil }
    return owners.map(\.words).joined(separator: " or ")
  }

  /// The object in a sentence: `a source`, or the key that has it: `"parse"`.
  private var words: String {
    let ofKeys = ["auth", "dbus", "every", "http", "on", "parse", "permissions", "require", "rows"]
    return ofKeys.contains(name) ? "\"\(name)\"" : name.withArticle
  }
}
