import WidgetModel

/// The theme: one value for the whole store. No widget depends on it.
extension WidgetStore {
  /// Changes the theme. Returns the new theme, also for a dry run, and whether it differs.
  mutating func updateTheme(
    _ update: ThemeUpdate, ifRevision expected: Revision?
  ) throws(StoreError) -> (theme: RevisedTheme, differs: Bool) {
    if let expected, expected != theme.revision { throw .themeChanged(current: theme.revision) }
    let overrides: [String: ThemeValue]
    do throws(ThemeProblem) { overrides = try theme.overrides(after: update) } catch {
      throw .invalid(field: error.place, description: error.message)
    }
    // After the limit was lowered, a theme above it may still change or shrink, but not grow.
    guard
      overrides.count <= limits.themeOverridesMax
        || overrides.count <= theme.overrides.count && !update.replaces
    else {
      throw .quotaExceeded(limit: "theme_overrides_max", maximum: limits.themeOverridesMax)
    }
    guard overrides != theme.overrides else { return (theme, false) }
    guard !update.isDryRun else {
      return (RevisedTheme(overrides: overrides, revision: theme.revision), true)
    }
    addInverse(.theme(theme))
    theme = RevisedTheme(overrides: overrides, revision: advanceRevision())
    return (theme, true)
  }
}
