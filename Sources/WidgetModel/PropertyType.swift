/// The type of a node's property. `fitted` checks a value against it.
public indirect enum PropertyType: Hashable, Sendable {
  /// Any value of a field's type.
  case field(FieldType)
  /// A whole number in a range.
  case whole(ClosedRange<Int64>)
  /// A finite number in a range.
  case number(ClosedRange<Double>)
  /// One of some words.
  case choice([String])
  /// `#rrggbb`, `#rrggbbaa`, or a token: `color.primary`, or `primary` for short.
  case color
  /// A length in points, or a token: `offset.basic`.
  case length
  /// A length for all edges, or a map from edges to lengths.
  case edges
  /// A token: `font.title`, or `title` for short.
  case font
  /// Whether there is a line, or a map with its colour and its insets.
  case separator
  /// A word, or a map that names an image or a child node.
  case accessory
  /// A list of runs: pieces of text, each with its look.
  case runs
  /// A list of columns: a heading, or a map with its heading, alignment and width.
  case columns
}

/// The reason why a value does not fit a property.
public struct PropertyMismatch: Error, Hashable, Sendable {
  /// The problem: `"horizonal" is not a valid axis`.
  public let message: String
  /// The advice; empty if the message is enough.
  public let hint: String

  public init(message: String, hint: String) { (self.message, self.hint) = (message, hint) }

  /// Both in one sentence.
  public var description: String { hint.isEmpty ? message : "\(message); \(hint)" }
}

extension PropertyType {
  /// The edges that a map of lengths can name. The most specific key counts: `top` before
  /// `vertical` before `all`.
  public static let edgeNames = [
    "all", "horizontal", "vertical", "top", "bottom", "leading", "trailing",
  ]
  /// The maximum length, in points.
  public static let lengthMax = 100_000.0

  /// The type of expressions for such a value.
  public var fieldType: FieldType {
    switch self {
    case .field(let type): type
    case .whole: .int
    case .number: .double
    case .choice, .color, .font: .string
    case .length, .edges, .separator, .accessory: .any
    case .runs, .columns: .list(.any)
    }
  }

  /// The allowed values, in words: `vertical or horizontal`.
  public var words: String {
    switch self {
    case .field(let type): "\(type)"
    case .whole(let range):
      range.upperBound == .max
        ? "whole number from \(range.lowerBound)"
        : "whole number, \(range.lowerBound) to \(range.upperBound)"
    case .number(let range):
      range == PropertyType.anyNumber.range
        ? "number" : "number, \(Self.text(range.lowerBound)) to \(Self.text(range.upperBound))"
    case .choice(let words): Self.list(words)
    case .color: "#rrggbb, #rrggbbaa, or a colour token"
    case .length: "points, or an offset token"
    case .edges: "points or an offset token; or a map with \(Self.list(Self.edgeNames))"
    case .font: "a font token"
    case .separator: "bool, or a map with color and insets"
    case .accessory: "none, disclosure, activity or checkmark; or a map with image or node"
    case .runs:
      "list of maps with text, weight, italic, underline, strikethrough, color, background, link"
    case .columns: "list of headings, or of maps with title, align, width and grow"
    }
  }

  /// Any finite number.
  public static let anyNumber = PropertyType.number(
    -Double.greatestFiniteMagnitude...Double.greatestFiniteMagnitude)

  private var range: ClosedRange<Double>? {
    if case .number(let range) = self { range } else { nil }
  }

  /// The value in the form of the property: tokens in full, and text for a number in a text
  /// property. Null fits every type, and means that the property is absent. O(value).
  ///
  /// `name` is the property's name in the message.
  public func fitted(_ value: Value, as name: String) throws(PropertyMismatch) -> Value {
    if value == .null { return .null }
    switch self {
    case .field(let type):
      guard let fitted = type.fitted(value) else { throw expected("\(type)", value) }
      if case .duration(let duration) = fitted, duration < .zero {
        throw PropertyMismatch(
          message: "a negative duration is not a valid \(name)", hint: "use 0s or more")
      }
      return fitted
    case .whole(let range):
      guard case .int(let number) = value else { throw expected("int", value) }
      guard range.contains(number) else {
        throw PropertyMismatch(
          message: "\(number) is not a valid \(name)", hint: "use a \(words)")
      }
      return value
    case .number(let range):
      guard let number = value.propertyNumber else { throw expected("double", value) }
      // Numbers that are not finite are left to the renderer, because nothing can draw them.
      guard !number.isFinite || range.contains(number) else {
        throw PropertyMismatch(
          message: "\(Self.text(number)) is not a valid \(name)", hint: "use a \(words)")
      }
      return .double(number)
    case .choice(let choices):
      guard case .string(let word) = value else { throw expected("string", value) }
      guard choices.contains(word) else {
        throw PropertyMismatch(
          message: "\(Self.quoted(word)) is not a valid \(name)",
          hint: Self.suggestion(word, choices))
      }
      return value
    case .color: return .string(try Self.color(value, name))
    case .font: return .string(try token(value, .font, name))
    case .length: return try length(value, name)
    case .edges: return try edges(value, name)
    case .separator: return try separator(value, name)
    case .accessory: return try accessory(value, name)
    case .runs: return try Self.elements(value, name, as: Self.run)
    case .columns: return try Self.elements(value, name, as: Self.column)
    }
  }

  // MARK: - Colours, lengths, fonts

  private static func color(
    _ value: Value, _ name: String
  ) throws(PropertyMismatch) -> String {
    guard case .string(let text) = value else {
      throw PropertyMismatch(
        message: "\(name) is a colour, not a value of type \(value.typeName)", hint: "")
    }
    if ThemeColor(text) != nil { return text }
    guard !text.utf8.starts(with: "#".utf8), let token = ThemeToken(text, of: .color) else {
      throw PropertyMismatch(
        message: "\(quoted(text)) is not a colour",
        hint: tokenHint(text, .color, or: "write #rrggbb, #rrggbbaa or a token like color.primary"))
    }
    return token.name
  }

  private func token(
    _ value: Value, _ group: ThemeToken.Group, _ name: String
  ) throws(PropertyMismatch) -> String {
    guard case .string(let text) = value else { throw expected("string", value) }
    guard let token = ThemeToken(text, of: group) else {
      throw PropertyMismatch(
        message: "\(Self.quoted(text)) is not a valid \(name)",
        hint: Self.tokenHint(
          text, group,
          or: "write \(group == .offset ? "points, or " : "")a token like \(group.example)"))
    }
    return token.name
  }

  private static func tokenHint(
    _ text: String, _ group: ThemeToken.Group, or hint: String
  ) -> String {
    text.closest(among: ThemeToken.shortNames(of: group)).map { "did you mean \"\($0)\"?" } ?? hint
  }

  private func length(_ value: Value, _ name: String) throws(PropertyMismatch) -> Value {
    if case .string = value { return .string(try token(value, .offset, name)) }
    guard let number = value.propertyNumber else {
      throw PropertyMismatch(
        message: "\(name) is a length, not a value of type \(value.typeName)",
        hint: "write points, or a token like \(ThemeToken.Group.offset.example)")
    }
    guard number >= 0, number <= Self.lengthMax else {
      throw PropertyMismatch(
        message: "\(Self.text(number)) is not a valid \(name)",
        hint: "use points from 0 to \(Self.text(Self.lengthMax))")
    }
    return .double(number)
  }

  /// The name of a part of a property: `padding.top of a label`.
  private static func part(_ part: String, of name: String) -> String {
    let property = name.prefix { $0 != " " }
    return property + part + name[property.endIndex...]
  }

  private func edges(_ value: Value, _ name: String) throws(PropertyMismatch) -> Value {
    guard case .map(let map) = value else { return try length(value, name) }
    var fitted: [ValueMap.Entry] = []
    for entry in map.entries {
      try Self.known(entry.key, Self.edgeNames, in: name)
      fitted.append(
        .init(key: entry.key, value: try length(entry.value, Self.part(".\(entry.key)", of: name))))
    }
    return .map(ValueMap(fitted))
  }

  private func separator(_ value: Value, _ name: String) throws(PropertyMismatch) -> Value {
    guard case .map(let map) = value else {
      guard case .bool = value else { throw expected("bool or map", value) }
      return value
    }
    return .map(
      try Self.map(map, name) { (key, value) throws(PropertyMismatch) in
        switch key {
        case "color": .string(try Self.color(value, Self.part(".color", of: name)))
        case "insets": try edges(value, Self.part(".insets", of: name))
        default: nil
        }
      } keys: {
        ["color", "insets"]
      })
  }

  private func accessory(_ value: Value, _ name: String) throws(PropertyMismatch) -> Value {
    guard case .map(let map) = value else {
      return try PropertyType.choice(Self.accessoryNames).fitted(value, as: name)
    }
    guard map.count == 1 else {
      throw PropertyMismatch(message: "\(name) has one key", hint: "write image: or node:")
    }
    return .map(
      try Self.map(map, name) { (key, value) throws(PropertyMismatch) in
        key == "image" || key == "node"
          ? try PropertyType.field(.string).fitted(value, as: Self.part(".\(key)", of: name)) : nil
      } keys: {
        ["image", "node"]
      })
  }

  /// The accessories that have a name.
  public static let accessoryNames = ["none", "disclosure", "activity", "checkmark"]

  // MARK: - Runs and columns

  private static let runProperties: [String: PropertyType] = [
    "text": .field(.string), "weight": .choice(["regular", "bold", "light"]),
    "italic": .field(.bool), "underline": .field(.bool), "strikethrough": .field(.bool),
    "color": .color, "background": .color, "link": .field(.string),
  ]

  private static let columnProperties: [String: PropertyType] = [
    "title": .field(.string), "align": .choice(["start", "center", "end"]), "width": .length,
    "grow": .number(0...1000),
  ]

  private static func run(_ value: Value, _ name: String) throws(PropertyMismatch) -> Value {
    try object(value, name, runProperties, shorthand: "text")
  }

  private static func column(_ value: Value, _ name: String) throws(PropertyMismatch) -> Value {
    // A heading without a map stays text.
    if case .map = value { return try object(value, name, columnProperties, shorthand: "title") }
    guard let title = value.propertyText else {
      throw PropertyMismatch(
        message: "\(name) is a heading or a map, not a value of type \(value.typeName)", hint: "")
    }
    return .string(title)
  }

  private static func object(
    _ value: Value, _ name: String, _ types: [String: PropertyType], shorthand: String
  ) throws(PropertyMismatch) -> Value {
    guard case .map(let map) = value else {
      guard let text = value.propertyText else {
        throw PropertyMismatch(
          message: "\(name) is text or a map, not a value of type \(value.typeName)", hint: "")
      }
      return .map([shorthand: .string(text)])
    }
    return .map(
      try Self.map(map, name) { (key, value) throws(PropertyMismatch) in
        guard let type = types[key] else { return nil }
        if case .field(.string) = type, let text = value.propertyText { return .string(text) }
        return try type.fitted(value, inside: Self.part(".\(key)", of: name))
      } keys: {
        types.keys.sorted()
      })
  }

  /// The same as `fitted`, for a part of a property. The message has the part's place, and the hint
  /// has all choices, because the property's place in a file does not lead to the part.
  private func fitted(_ value: Value, inside place: String) throws(PropertyMismatch) -> Value {
    do throws(PropertyMismatch) {
      return try fitted(value, as: place)
    } catch {
      var (message, hint) = (error.message, error.hint)
      if !message.contains(place) { message = "\(place): \(message)" }
      if hint.isEmpty || self.isChoice, !hint.contains(words) {
        hint += hint.isEmpty ? "use \(words)" : " Use \(words)"
      }
      throw PropertyMismatch(message: message, hint: hint)
    }
  }

  private var isChoice: Bool { if case .choice = self { true } else { false } }

  private static func elements(
    _ value: Value, _ name: String,
    as element: (Value, String) throws(PropertyMismatch) -> Value
  ) throws(PropertyMismatch) -> Value {
    guard case .list(let list) = value else {
      throw PropertyMismatch(
        message: "\(name) is a list, not a value of type \(value.typeName)", hint: "")
    }
    var fitted: [Value] = []
    for (index, value) in list.enumerated() {
      fitted.append(try element(value, Self.part("[\(index)]", of: name)))
    }
    return .list(fitted)
  }

  // MARK: - Messages

  private static func map(
    _ map: ValueMap, _ name: String,
    _ fit: (String, Value) throws(PropertyMismatch) -> Value?, keys: () -> [String]
  ) throws(PropertyMismatch) -> ValueMap {
    var fitted: [ValueMap.Entry] = []
    for entry in map.entries {
      guard let value = try fit(entry.key, entry.value) else {
        try known(entry.key, keys(), in: name)
        continue
      }
      if value != .null { fitted.append(.init(key: entry.key, value: value)) }
    }
    return ValueMap(fitted)
  }

  private static func known(
    _ key: String, _ keys: [String], in name: String
  ) throws(PropertyMismatch) {
    guard !keys.contains(key) else { return }
    throw PropertyMismatch(
      message: "\(name) has no \(quoted(key))", hint: suggestion(key, keys))
  }

  private func expected(_ type: String, _ value: Value) -> PropertyMismatch {
    PropertyMismatch(
      message: "expected a value of type \(type), not \(value.typeName)", hint: "")
  }

  private static func suggestion(_ word: String, _ words: [String]) -> String {
    word.closest(among: words).map { "did you mean \"\($0)\"?" } ?? "use \(list(words))"
  }

  private static func quoted(_ text: String) -> String { "\"\(text.prefix(40))\"" }

  /// `a, b or c`
  private static func list(_ words: [String]) -> String {
    words.count < 2
      ? words.joined() : words.dropLast().joined(separator: ", ") + " or \(words[words.count - 1])"
  }

  static func text(_ number: Double) -> String {
    number == number.rounded() && number.magnitude < 1e15 ? "\(Int64(number))" : "\(number)"
  }
}

extension Value {
  /// A number, whole or not.
  fileprivate var propertyNumber: Double? {
    switch self {
    case .int(let number): Double(number)
    case .double(let number): number
    default: nil
    }
  }

  /// Text, or a number or truth value as text.
  fileprivate var propertyText: String? {
    switch self {
    case .string(let text): text
    case .int(let number): "\(number)"
    case .double(let number): "\(number)"
    case .bool(let flag): "\(flag)"
    default: nil
    }
  }
}
