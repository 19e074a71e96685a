/// A daemon's theme: overrides over the standard theme.
public struct RevisedTheme: Hashable, Sendable {
  /// The values that differ from the standard theme, by token.
  public var overrides: [String: ThemeValue]
  /// The revision of its last change. 0 if it was never changed.
  public var revision: Revision

  public init(overrides: [String: ThemeValue] = [:], revision: Revision = 0) {
    self.overrides = overrides
    self.revision = revision
  }

  /// The whole theme.
  public var theme: Theme { .standard.overridden(by: overrides) }
}

/// The changes of a theme.
public struct ThemeUpdate: Hashable, Sendable {
  /// The new values, by token.
  public var set: [String: ThemeValue]
  /// The tokens to reset to their standard value, or to remove. Applied before `set`.
  public var unset: [String]
  /// Unset all tokens first.
  public var replaces: Bool
  /// Change nothing: only return the result.
  public var isDryRun: Bool

  public init(
    set: [String: ThemeValue] = [:], unset: [String] = [], replaces: Bool = false,
    isDryRun: Bool = false
  ) {
    self.set = set
    self.unset = unset
    self.replaces = replaces
    self.isDryRun = isDryRun
  }
}

/// The reason why a theme cannot be changed.
public struct ThemeProblem: Error, Hashable, Sendable {
  /// `set[color.primary]`
  public let place: String
  /// The reason, and the advice.
  public let message: String
}

extension RevisedTheme {
  /// The overrides after an update. A value that equals the standard one is not an override.
  public func overrides(after update: ThemeUpdate) throws(ThemeProblem) -> [String: ThemeValue] {
    var result = update.replaces ? [:] : overrides
    for (index, token) in update.unset.enumerated() {
      guard ThemeToken(token) != nil else {
        throw ThemeProblem(place: "unset[\(index)]", message: ThemeToken.rule(for: token))
      }
      guard update.set[token] == nil else {
        throw ThemeProblem(
          place: "unset[\(index)]",
          message: "\"\(token)\" is also set; remove it from set or from unset")
      }
      result[token] = nil
    }
    for (token, value) in update.set.sorted(by: { $0.key.precedesByBytes($1.key) }) {
      if let problem = value.problem(as: token) {
        throw ThemeProblem(place: "set[\(token.prefix(ThemeToken.lengthMax))]", message: problem)
      }
      result[token] = value == Theme.standard.values[token] ? nil : value
    }
    return result
  }
}

extension ThemeValue {
  /// The greatest length, in points.
  public static let offsetMax = PropertyType.lengthMax

  /// The reason why it cannot be the value of a token, and the advice. Nil if it is valid.
  public func problem(as token: String) -> String? {
    guard let known = ThemeToken(token) else { return ThemeToken.rule(for: token) }
    guard known.group == group else {
      return "\(known.group.rawValue.withArticle) token cannot be \(group.words); "
        + "write \(known.group.howTo)"
    }
    switch self {
    case .color: return nil
    case .offset(let points):
      // The check refuses NaN, too, because NaN is in no range.
      return (0...ThemeValue.offsetMax).contains(points)
        ? nil : "\(points) is not a length; write \(known.group.howTo)"
    case .font(let font):
      return ThemeFont.sizes.contains(font.size)
        ? nil : "\(font.size) is not a font size; write \(known.group.howTo)"
    }
  }
}

extension ThemeToken {
  /// The reason why a text is not a token, and the advice.
  public static func rule(for text: String) -> String {
    let problem = "\"\(text.prefix(lengthMax))\" is not a token"
    guard let meant = nearest(to: String(text.prefix(lengthMax))) else {
      return
        "\(problem); write color., offset. or font. and a name of a-z, A-Z, 0-9 and _, a letter "
        + "first, \(lengthMax) bytes in all: color.brand"
    }
    return "\(problem); did you mean \(meant)?"
  }

  /// The token that is probably meant: with a missing or misspelt group corrected, without a part
  /// (`color.primary.dark`), or the nearest known one of the group.
  public static func nearest(to text: String, in theme: Theme = .standard) -> String? {
    let groups = Group.allCases.map(\.rawValue)
    let names = groups.map { "\($0).\(text)" }
    if let known = names.first(where: { theme.values[$0] != nil }) { return known }
    let whole = text.split(separator: ".").prefix(2).joined(separator: ".")
    if whole != text, theme.values[whole] != nil { return whole }
    let head = String(text.prefix { $0 != "." })
    if head != text, !groups.contains(head), let group = head.closest(among: groups) {
      let token = group + text.dropFirst(head.count)
      return ThemeToken(token) == nil ? nil : token
    }
    let prefix = head + "."
    let known = theme.values.keys.filter { $0.hasPrefix(prefix) }
    return String(text.dropFirst(prefix.count))
      .closest(among: known.map { String($0.dropFirst(prefix.count)) }.sorted())
      .map { prefix + $0 }
  }
}

extension ThemeToken.Group {
  /// The description of its values, with an article.
  var words: String {
    switch self {
    case .color: "a colour"
    case .offset: "a length"
    case .font: "a font"
    }
  }

  /// The written form of its values.
  public var howTo: String {
    switch self {
    case .color: "#rrggbb or #rrggbbaa"
    case .offset: "points, 0 to \(Int(ThemeValue.offsetMax))"
    case .font:
      "a size of \(Int(ThemeFont.sizes.lowerBound)) to \(Int(ThemeFont.sizes.upperBound)) points, and "
        + "weight (regular, bold, light), italic, monospace"
    }
  }
}
