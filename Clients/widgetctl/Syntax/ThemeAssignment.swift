import WidgetModel

/// One `TOKEN=VALUE` of `theme set`, or of a part of the token's value: `color.primary.dark=#7aa2f7`,
/// `font.title.size=20`.
struct ThemeAssignment: Hashable {
  let token: String
  /// The part of the value to set, such as `dark`. Nil for the whole value.
  let part: String?
  let text: String

  private static let parts: [ThemeToken.Group: [String]] = [
    .color: ["light", "dark", "high-contrast"], .offset: [],
    .font: ["size", "weight", "italic", "monospace"],
  ]

  /// Parses an argument. Throws a message for the user.
  init(_ argument: String) throws(SyntaxFailure) {
    guard let equals = argument.firstIndex(of: "=") else {
      throw SyntaxFailure("\"\(argument)\" is not TOKEN=VALUE: color.primary=#2b5fd9")
    }
    let name = String(argument[..<equals])
    text = String(argument[argument.index(after: equals)...])
    if ThemeToken(name) != nil {
      (token, part) = (name, nil)
      return
    }
    let words = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard words.count == 3, let known = ThemeToken("\(words[0]).\(words[1])") else {
      throw SyntaxFailure(ThemeToken.rule(for: name))
    }
    let parts = ThemeAssignment.parts[known.group] ?? []
    // The name in theme files.
    let part = words[2] == "highContrast" ? "high-contrast" : words[2]
    guard parts.contains(part) else {
      throw SyntaxFailure(
        parts.isEmpty
          ? "\(known.name) is a length and has no parts; write \(known.name)=POINTS"
          : "\(known.name) has no part \"\(words[2])\"; use \(parts.joined(separator: ", "))")
    }
    (token, self.part) = (known.name, part)
  }

  /// The token's value afterwards.
  func applied(to value: ThemeValue?) throws(SyntaxFailure) -> ThemeValue {
    do throws(FieldFailure) {
      let result = try changed(value)
      if let problem = result.problem(as: token) { throw FieldFailure("", problem) }
      return result
    } catch {
      throw SyntaxFailure("\(token)\(part.map { ".\($0)" } ?? ""): \(error.reason)")
    }
  }

  private func changed(_ value: ThemeValue?) throws(FieldFailure) -> ThemeValue {
    guard let known = ThemeToken(token) else { throw FieldFailure("", ThemeToken.rule(for: token)) }
    switch known.group {
    case .offset: return try ThemeValue.read(number, of: token)
    case .color:
      guard let part else { return try ThemeValue.read(.string(text), of: token) }
      guard case .color(var colors)? = value else {
        throw FieldFailure("", "the token has no value yet; write \(token)=#rrggbb first")
      }
      guard let color = ThemeColor(text) else {
        throw FieldFailure("", "\"\(text)\" is not a colour; write \(known.group.howTo)")
      }
      switch part {
      case "light": colors.light = color
      case "dark": colors.dark = color
      default: colors.highContrast = color
      }
      return .color(colors)
    case .font:
      var font = ThemeFont(size: 16)
      if case .font(let old)? = value { font = old }
      switch part ?? "size" {
      case "size":
        guard let size = Double(text) else {
          throw FieldFailure("", "\"\(text)\" is not a size; write \(known.group.howTo)")
        }
        font.size = size
      case "weight": font.weight = try ThemeValue.weight(text)
      case "italic": font.isItalic = try flag
      default: font.isMonospaced = try flag
      }
      return .font(font)
    }
  }

  private var number: Value { Double(text).map { .double($0) } ?? .string(text) }

  private var flag: Bool {
    get throws(FieldFailure) {
      guard let flag = Bool(text) else { throw FieldFailure("", "must be true or false") }
      return flag
    }
  }

  /// The values to set, by token. Several assignments may be about one token.
  static func values(
    _ assignments: [ThemeAssignment], over current: [String: ThemeValue]
  ) throws(SyntaxFailure) -> [String: ThemeValue] {
    var values: [String: ThemeValue] = [:]
    for assignment in assignments {
      values[assignment.token] = try assignment.applied(
        to: values[assignment.token] ?? current[assignment.token])
    }
    return values
  }

  /// Whether the result depends on the token's current value.
  var readsValue: Bool { part != nil || token.hasPrefix("font.") }
}
