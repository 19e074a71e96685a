/// A token that a node uses and a theme does not have.
public struct UnknownToken: Hashable, Sendable {
  /// The node's property: `color`.
  public let property: String
  /// The full name: `color.primry`.
  public let token: String
  /// The token of the theme that was probably meant.
  public let suggestion: String?

  /// The problem, as a sentence of a node's `problem`.
  public var description: String {
    "\(property): the theme has no token \"\(token)\""
      + (suggestion.map { "; did you mean \($0)?" } ?? "; `widgetctl theme set` adds it")
  }
}

extension Node {
  /// The tokens that the node uses and the theme does not have, in the order of the properties.
  public func unknownTokens(of theme: Theme) -> [UnknownToken] {
    properties.entries.flatMap { entry -> [UnknownToken] in
      guard let type = type?.property(entry.key)?.type, type.takesTokens else {
        return []
      }
      return entry.value.tokens(withPlainText: type.isAllTokens).compactMap { token in
        guard theme.values[token] == nil else { return nil }
        return UnknownToken(
          property: entry.key, token: token,
          suggestion: ThemeToken.nearest(to: token, in: theme))
      }
    }
  }
}

extension PropertyType {
  /// Whether values can hold tokens of a theme.
  fileprivate var takesTokens: Bool {
    switch self {
    case .field, .whole, .number, .choice: false
    case .color, .length, .edges, .font, .separator, .accessory, .runs, .columns: true
    }
  }

  /// Whether a text that is the whole value is a token; text in a list may be a heading.
  fileprivate var isAllTokens: Bool { self != .runs && self != .columns }
}

extension Value {
  /// The tokens in the value. Text for people is left out: texts of runs and columns, and links.
  fileprivate func tokens(withPlainText takesText: Bool) -> [String] {
    switch self {
    case .string(let text): takesText ? ThemeToken(text).map { [$0.name] } ?? [] : []
    case .list(let values): values.flatMap { $0.tokens(withPlainText: takesText) }
    case .map(let map):
      map.entries.filter { !["text", "title", "url", "image", "node"].contains($0.key) }
        .flatMap { $0.value.tokens(withPlainText: true) }
    default: []
    }
  }
}
