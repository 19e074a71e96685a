import WidgetModel
import WidgetProto

// Themes as documents: what `theme get` prints and `theme import` reads.
//
// A colour is text, or a map of light, dark and highContrast (or high-contrast) where these differ. A length is a number. A
// font is a map of size, weight, italic and monospace.

extension ThemeValue {
  private static let appearances = ["light", "dark", "highContrast", "high-contrast"]
  private static let fontFields = ["size", "weight", "italic", "monospace"]

  var document: Value {
    switch self {
    case .color(let colors):
      if colors == ThemeColors(colors.light) { return .string("\(colors.light)") }
      return .map([
        "light": .string("\(colors.light)"), "dark": .string("\(colors.dark)"),
        "highContrast": .string("\(colors.highContrast)"),
      ])
    case .offset(let points): return .double(points)
    case .font(let font):
      return .map([
        "size": .double(font.size), "weight": .string(font.weight.name),
        "italic": .bool(font.isItalic), "monospace": .bool(font.isMonospaced),
      ])
    }
  }

  /// Reads the value of a token.
  static func read(_ value: Value, of token: String) throws(FieldFailure) -> ThemeValue {
    guard let known = ThemeToken(token) else { throw FieldFailure("", ThemeToken.rule(for: token)) }
    let result: ThemeValue
    switch known.group {
    case .color: result = .color(try colors(value))
    case .offset:
      guard let points = value.themeNumber else {
        throw FieldFailure("", "must be a length; write \(known.group.howTo)")
      }
      result = .offset(points)
    case .font: result = .font(try font(value, known.group))
    }
    if let problem = result.problem(as: token) { throw FieldFailure("", problem) }
    return result
  }

  private static func colors(_ value: Value) throws(FieldFailure) -> ThemeColors {
    guard case .map(let map) = value else { return ThemeColors(try color(value)) }
    try map.onlyHas(appearances)
    // `theme set` writes it with a hyphen.
    let contrast = map["high-contrast"] == nil ? "highContrast" : "high-contrast"
    if contrast == "high-contrast", map["highContrast"] != nil {
      throw FieldFailure(contrast, "is the same as highContrast; leave one of them out")
    }
    let read = { (name: String) throws(FieldFailure) -> ThemeColor in
      do throws(FieldFailure) { return try color(map[name] ?? map["light"] ?? .null) } catch {
        throw error.inside(map[name] == nil ? "light" : name)
      }
    }
    return ThemeColors(
      light: try read("light"), dark: try read("dark"), highContrast: try read(contrast))
  }

  private static func color(_ value: Value) throws(FieldFailure) -> ThemeColor {
    guard case .string(let text) = value else {
      throw FieldFailure(
        "", "must be a colour; write \(ThemeToken.Group.color.howTo) in quotes")
    }
    if let color = ThemeColor(text) { return color }
    throw FieldFailure(
      "", "\"\(text.prefix(32))\" is not a colour; write \(ThemeToken.Group.color.howTo)")
  }

  private static func font(
    _ value: Value, _ group: ThemeToken.Group
  ) throws(FieldFailure) -> ThemeFont {
    guard case .map(let map) = value else {
      throw FieldFailure("", "must be a font; write \(group.howTo)")
    }
    try map.onlyHas(fontFields)
    guard let size = map["size"]?.themeNumber else {
      throw FieldFailure("size", "must be a number of points")
    }
    var font = ThemeFont(size: size)
    if let name = try map.text("weight") { font.weight = try weight(name) }
    font.isItalic = try map.bool("italic") ?? false
    font.isMonospaced = try map.bool("monospace") ?? false
    return font
  }

  static func weight(_ name: String) throws(FieldFailure) -> ThemeFont.Weight {
    guard let weight = ThemeFont.Weight.allCases.first(where: { $0.name == name }) else {
      throw FieldFailure(
        "weight", "must be \(ThemeFont.Weight.allCases.map(\.name).joined(separator: ", "))")
    }
    return weight
  }
}

extension Value {
  /// A number of either kind.
  fileprivate var themeNumber: Double? {
    switch self {
    case .int(let number): Double(number)
    case .double(let number): number
    default: nil
    }
  }
}

extension ThemeState {
  private static let fields = ["theme", "overridden", "revision", "etag"]

  var document: Value {
    .map([
      "revision": .revision(revision), "etag": .string(etag),
      "overridden": .list(overridden.map { .string($0) }),
      "theme": .map(
        ValueMap(values.map { ValueMap.Entry(key: $0.key, value: $0.value.document) })),
    ])
  }

  /// Reads the values of a theme: what `theme get` prints, or a map of tokens.
  static func readValues(_ document: Value) throws(FieldFailure) -> [String: ThemeValue] {
    guard case .map(let map) = document else {
      throw FieldFailure("", "must be a map of tokens and values: color.primary: \"#0000ff\"")
    }
    var tokens = map
    var place = ""
    if map["theme"] != nil {
      try map.onlyHas(fields)
      (tokens, place) = (try map.object("theme"), "theme")
    }
    var values: [String: ThemeValue] = [:]
    for entry in tokens.entries {
      do throws(FieldFailure) {
        values[entry.key] = try ThemeValue.read(entry.value, of: entry.key)
      } catch {
        let token = error.inside(entry.key)
        throw place.isEmpty ? token : token.inside(place)
      }
    }
    return values
  }
}
