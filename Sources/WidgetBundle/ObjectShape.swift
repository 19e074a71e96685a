import WidgetModel

/// The keys of an object of a bundle.
///
/// Only this list has the keys. The reader, the JSON Schema and the tables of the reference follow
/// from it.
public struct ObjectShape: Hashable, Sendable {
  /// The name in the schema (`$defs/NAME`).
  public let name: String
  public let summary: String
  /// The keys, in the order in which people write them.
  public let entries: [Key]
  /// The type of the other keys, whose names the bundle chooses. Nil if there are no other keys.
  public let others: KeyType?
  /// A value that can replace the object. Nil if none can.
  public let shorthand: KeyType?

  /// A key and its value's type.
  public struct Key: Hashable, Sendable {
    public let name: String
    public let type: KeyType
    public let isRequired: Bool
    /// The meaning, in a sentence or two.
    public let summary: String

    init(_ name: String, _ type: KeyType, _ summary: String, isRequired: Bool = false) {
      self.name = name
      self.type = type
      self.isRequired = isRequired
      self.summary = summary
    }
  }

  init(
    _ name: String, _ summary: String, _ entries: [Key], others: KeyType? = nil,
    shorthand: KeyType? = nil
  ) {
    self.name = name
    self.summary = summary
    self.entries = entries
    self.others = others
    self.shorthand = shorthand
    keys = entries.map(\.name)
  }

  /// The names of the keys.
  public let keys: [String]

  var isOpen: Bool { others != nil }

  /// The key whose object has a key of this name. The author may have written it one level too
  /// high. Nil if no object has it.
  func home(of key: String) -> String? {
    entries.first { entry in
      entry.type.shapes.contains { name in
        ObjectShape.all.contains { $0.name == name && $0.keys.contains(key) }
      }
    }?.name
  }

  /// The keys that `get`, `ls` and `describe` print, and that the daemon fills. `apply` ignores them.
  var printedKeys: Set<String> {
    switch name {
    case "set": ["resumeToken", "revision"]
    case "kind":
      [
        "attended", "ownerUid", "provider", "providerConnected", "refreshBudget", "revision",
        "updateTime",
      ]
    case "widget":
      [
        "activity", "applySet", "content", "createTime", "createdRevision", "error", "etag",
        "ownerUid", "position", "revision", "stale", "state", "updateTime",
      ]
    case "timeline": ["current", "nextTime", "problem"]
    default: []
    }
  }

  /// A key that every object may have, for remarks in JSON. The reader ignores its value.
  public static let remark = "//"
}

/// The type of a key's value.
public indirect enum KeyType: Hashable, Sendable {
  case text
  case bool
  /// Whole, and not below zero.
  case int
  case duration
  /// A duration that can be negative.
  case shift
  case expression
  /// Any constant.
  case constant
  /// A constant, or `=EXPRESSION`, at any depth.
  case template
  /// As a template, but it gives text.
  case textTemplate
  case name(pattern: String)
  case words([String])
  case list(KeyType)
  /// An object of the bundle's own names.
  case map(KeyType)
  /// An object whose keys are families: `small`, `"medium, large"`, `"*"`.
  case byFamily(KeyType)
  case shape(String)
  case any([KeyType])

  static func oneOrMore(_ type: KeyType) -> KeyType { .any([type, .list(type)]) }

  /// An action's name, a step, or a list of such.
  static let steps = oneOrMore(.shape("step"))

  /// The shapes that a value can have.
  fileprivate var shapes: [String] {
    switch self {
    case .shape(let name): [name]
    case .any(let types): types.flatMap(\.shapes)
    default: []
    }
  }

  /// The text for the reference.
  public var words: String {
    switch self {
    case .text: "text"
    case .bool: "true or false"
    case .int: "whole number"
    case .duration, .shift: "duration"
    case .expression: "expression"
    case .constant: "value"
    case .template: "template"
    case .textTemplate: "text template"
    case .name: "name"
    case .words(let words): words.map { "`\($0)`" }.joined(separator: ", ")
    case .list(let type): "list of \(type.words)"
    case .map(let type): "names, each with \(type.words)"
    case .byFamily(let type): "families, each with \(type.words)"
    case .shape("step"): "steps"
    case .shape("fields"): "[fields](#field)"
    case .shape(let name): "[\(name)](#\(name))"
    case .any(let types):
      if self == KeyType.steps {
        "steps"
      } else if types.count == 2, types[1] == .list(types[0]) {
        "\(types[0].words), or a list"
      } else {
        types.map(\.words).joined(separator: ", or ")
      }
    }
  }
}

extension ObjectShape {
  /// The keys as a Markdown table, one line for each key.
  public var table: String {
    var text = "| key | takes | meaning |\n| --- | --- | --- |\n"
    for key in entries {
      let words = key.type.words + (key.isRequired ? "; required" : "")
      text += "| `\(key.name)` | \(words) | \(key.summary.replacing("|", with: "\\|")) |\n"
    }
    return text
  }
}
