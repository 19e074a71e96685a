import WidgetModel

@testable import WidgetCore

/// The theme as a plain map, with a list of refused changes.
struct ModelTheme: Equatable {
  var values: [String: ThemeValue] = [:]
  var revision: Revision = 0

  static let good: [(token: String, value: ThemeValue)] = [
    ("color.primary", color(1)), ("color.primary", color(2)), ("color.brand", color(1)),
    ("offset.basic", .offset(3)), ("offset.mine", .offset(0)), ("offset.mine", .offset(100_000)),
    ("font.title", .font(ThemeFont(size: 4, weight: .bold))),
    ("font.title", standard("font.title")), ("color.primary", standard("color.primary")),
  ]
  static let bad: [(token: String, value: ThemeValue)] = [
    ("color.primary", .offset(1)), ("offset.basic", .offset(-1)), ("offset.basic", .offset(.nan)),
    ("font.title", .font(ThemeFont(size: 3))), ("brand", color(1)), ("shadow.x", .offset(1)),
  ]
  static let noTokens = ["brand", "color.", "shadow.x"]
  static let tokens = ["color.primary", "color.brand", "offset.basic", "offset.mine", "font.title"]

  private static func color(_ blue: UInt8) -> ThemeValue {
    .color(ThemeColors(ThemeColor(red: 0, green: 0, blue: blue)))
  }

  private static func standard(_ token: String) -> ThemeValue {
    Theme.standard.values[token] ?? .offset(-1)
  }

  /// Makes a change at a revision. Returns whether the theme has changed.
  mutating func run(
    _ update: ThemeUpdate, ifRevision expected: Revision?, overridesMax: Int, at next: Revision
  ) throws(StoreError) -> (outcome: Commit.Outcome, isChange: Bool) {
    if let expected, expected != revision { throw .themeChanged(current: revision) }
    var values = update.replaces ? [:] : values
    for (index, token) in update.unset.enumerated() {
      if ModelTheme.noTokens.contains(token) || update.set.keys.contains(token) {
        throw .invalid(field: "unset[\(index)]", description: "")
      }
      values[token] = nil
    }
    for token in update.set.keys.sorted() {
      let value = update.set[token]
      guard ModelTheme.good.contains(where: { $0.token == token && $0.value == value }) else {
        throw .invalid(field: "set[\(token)]", description: "")
      }
      values[token] = value == Theme.standard.values[token] ? nil : value
    }
    let isFewer = !update.replaces && values.count <= self.values.count
    if values.count > overridesMax, !isFewer {
      throw .quotaExceeded(limit: "theme_overrides_max", maximum: overridesMax)
    }
    let differs = values != self.values
    let isChange = differs && !update.isDryRun
    if isChange { (self.values, revision) = (values, next) }
    return (
      .themeUpdated(RevisedTheme(overrides: values, revision: revision), differs: differs),
      isChange
    )
  }
}
