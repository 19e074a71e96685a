/// The words about a folder of bundles that is missing.
enum MissingRoot {
  /// The step for a folder that the host cannot use, and that has no bundles.
  static let advice = "make it a folder that widgetd-host can read"

  /// The reason that a folder of bundles cannot be used, if it is missing.
  static func reason(_ root: String) -> String { "\(root) does not exist" }

  /// The problem of a folder, with the step for its user. An empty folder in the place of one that
  /// had bundles removes their widgets, so such a folder has a step of its own.
  ///
  /// - Parameters:
  ///   - problem: the problem without regard to the bundles.
  ///   - hadBundles: whether the host knows bundles of the folder.
  ///   - absenceMax: the time after which the widgets of a missing bundle are removed.
  static func words(
    _ problem: String, of root: String, hadBundles: Bool, absenceMax: Duration
  ) -> String {
    guard hadBundles, problem == "\(reason(root)); \(advice)" else { return problem }
    return "\(reason(root)); bring the folder back, because an empty folder removes its widgets"
      + " after \(absenceMax.components.seconds) s"
  }
}
