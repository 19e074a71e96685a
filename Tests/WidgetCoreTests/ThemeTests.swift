import Testing
import WidgetModel

@testable import WidgetCore

/// The theme: changed as a whole, in one commit, and independent of widgets.
struct ThemeTests {
  private static let green = ThemeValue.color(
    ThemeColors(ThemeColor(red: 0, green: 255, blue: 0)))
  private static let brand = ThemeValue.color(
    ThemeColors(ThemeColor(red: 9, green: 8, blue: 7, alpha: 6)))

  private func change(
    _ update: ThemeUpdate, _ store: inout Store, ifRevision: Revision? = nil
  ) throws -> (theme: RevisedTheme, differs: Bool, isChange: Bool) {
    let commit = try store.run(.updateTheme(update, ifRevision: ifRevision))
    guard case .themeUpdated(let theme, let differs) = commit.outcome else {
      throw StoreError.invalid(field: "outcome", description: "\(commit)")
    }
    return (theme, differs, commit.isChange)
  }

  @Test func `a new theme is one commit, and changes no widget`() throws {
    var store = try Store(widgets: ["a"])
    let before = store.revision
    let result = try change(
      ThemeUpdate(set: ["color.primary": Self.green, "color.brand": Self.brand]), &store)
    #expect(result.isChange)
    #expect(store.revision == before + 1)
    #expect(store.theme == result.theme)
    #expect(store.theme.revision == store.revision)
    #expect(store.theme.theme.values["color.primary"] == Self.green)
    #expect(store.theme.theme.values["color.brand"] == Self.brand)
    #expect(store.theme.theme.values["font.title"] == Theme.standard.values["font.title"])
    #expect(try store.changes(since: before).changes.isEmpty)
  }

  @Test func `an unchanged value takes no revision, and the standard value is no override`() throws
  {
    var store = Store()
    let standard = try #require(Theme.standard.values["color.primary"])
    #expect(try !change(ThemeUpdate(set: ["color.primary": standard]), &store).isChange)
    try #require(try change(ThemeUpdate(set: ["color.primary": Self.green]), &store).isChange)
    #expect(try !change(ThemeUpdate(set: ["color.primary": Self.green]), &store).differs)
    #expect(try change(ThemeUpdate(set: ["color.primary": standard]), &store).isChange)
    #expect(store.theme.overrides.isEmpty)
  }

  @Test func `tokens are unset one by one, or all at once`() throws {
    var store = Store()
    _ = try change(
      ThemeUpdate(set: [
        "color.primary": Self.green, "color.brand": Self.brand, "offset.basic": .offset(5),
      ]), &store)
    _ = try change(ThemeUpdate(unset: ["color.brand", "color.none"]), &store)
    #expect(Set(store.theme.overrides.keys) == ["color.primary", "offset.basic"])
    _ = try change(ThemeUpdate(set: ["color.brand": Self.brand], replaces: true), &store)
    #expect(Set(store.theme.overrides.keys) == ["color.brand"])
    _ = try change(ThemeUpdate(replaces: true), &store)
    #expect(store.theme.theme == .standard)
  }

  @Test func `a dry run returns the new theme, and an old etag changes nothing`() throws {
    var store = Store()
    let dry = try change(
      ThemeUpdate(set: ["color.primary": Self.green], isDryRun: true), &store)
    #expect(dry.differs && !dry.isChange)
    #expect(dry.theme.overrides == ["color.primary": Self.green])
    #expect(store.theme == RevisedTheme())
    _ = try change(ThemeUpdate(set: ["color.primary": Self.green]), &store, ifRevision: 0)
    #expect(
      store.refusal(of: .updateTheme(ThemeUpdate(replaces: true), ifRevision: 0))
        == .themeChanged(current: 1))
    _ = try change(ThemeUpdate(replaces: true), &store, ifRevision: 1)
  }

  @Test(arguments: [
    ("color.primary", ThemeValue.offset(1), "a color token cannot be a length; write #rrggbb or"),
    ("offset.basic", .offset(-1), "-1.0 is not a length; write points, 0 to 100000"),
    ("offset.basic", .offset(.nan), "nan is not a length; write points"),
    ("offset.basic", .offset(100_000.5), "100000.5 is not a length"),
    ("font.title", .font(ThemeFont(size: 3.9)), "3.9 is not a font size; write a size of 4"),
    ("font.title", .font(ThemeFont(size: .infinity)), "inf is not a font size"),
    ("colour.primary", green, "\"colour.primary\" is not a token; did you mean color.primary?"),
    ("primary", green, "\"primary\" is not a token; did you mean color.primary?"),
    ("color.", green, "\"color.\" is not a token"),
    ("color.a b", green, "\"color.a b\" is not a token; write color., offset. or font. and a name"),
  ])
  func `a bad value is refused with its token, the reason, and a valid form`(
    token: String, value: ThemeValue, message: String
  ) throws {
    var store = Store()
    let update = ThemeUpdate(set: ["color.brand": Self.brand, token: value])
    guard case .invalid(let field, let words)? = store.refusal(of: .updateTheme(update)) else {
      Issue.record("it is not refused")
      return
    }
    #expect(field == "set[\(token)]")
    #expect(words.hasPrefix(message), "\(words)")
  }

  @Test func `a token cannot be set and unset, and only tokens can be unset`() {
    var store = Store()
    let both = ThemeUpdate(set: ["color.primary": Self.green], unset: ["color.primary"])
    #expect(
      store.refusal(of: .updateTheme(both))
        == .invalid(
          field: "unset[0]",
          description: "\"color.primary\" is also set; remove it from set or from unset"))
    #expect(store.refusal(of: .updateTheme(ThemeUpdate(unset: ["color.x", "x y"]))) != nil)
  }

  @Test func `overrides are bounded, and a lowered limit only keeps more from coming`() throws {
    var store = Store(limits: .with { $0.themeOverridesMax = 2 })
    _ = try change(ThemeUpdate(set: ["color.a": Self.green, "color.b": Self.green]), &store)
    let third = Command.updateTheme(ThemeUpdate(set: ["color.c": Self.green]))
    #expect(
      store.refusal(of: third) == .quotaExceeded(limit: "theme_overrides_max", maximum: 2))
    // Values of the standard theme do not count.
    _ = try change(
      ThemeUpdate(set: ["color.link": try #require(Theme.standard.values["color.link"])]), &store)
    store.limits.themeOverridesMax = 1
    _ = try change(ThemeUpdate(set: ["color.a": Self.brand]), &store)
    #expect(store.refusal(of: third) != nil)
    _ = try change(ThemeUpdate(unset: ["color.a", "color.b"]), &store)
    #expect(store.theme.overrides.isEmpty)
  }

  @Test func `a group that fails takes the theme back, and one that succeeds stores it`() throws {
    var store = Store()
    _ = try change(ThemeUpdate(set: ["color.a": Self.green]), &store)
    #expect(store.pendingGroup().theme == store.theme)
    store.commitGroup(at: .at(0))
    let kept = store.theme
    #expect(store.pendingGroup().theme == nil)
    _ = try change(ThemeUpdate(set: ["color.a": Self.brand, "color.b": Self.brand]), &store)
    _ = try change(ThemeUpdate(unset: ["color.a"]), &store)
    #expect(store.hasPendingGroup)
    store.rollbackGroup()
    #expect(store.theme == kept)
    #expect(store.revision == kept.revision)
    // A second store is made for the change.
    let other = store
    _ = try change(ThemeUpdate(replaces: true), &store)
    #expect(other.theme == kept && store.theme != kept)
  }

  @Test func `a store that is opened again has its theme`() throws {
    let theme = RevisedTheme(overrides: ["color.a": Self.green], revision: 3)
    let store = Store(
      image: StoreImage(epoch: 1, revision: 4, theme: theme), limits: StoreLimits(),
      isRevocable: true)
    #expect(store.theme == theme)
  }
}
