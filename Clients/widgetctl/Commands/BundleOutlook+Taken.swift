import WidgetBundle
import WidgetClient
import WidgetModel

// The existing widgets with the ids of the bundle's widgets.
extension BundleOutlook {
  /// A widget of another owner, with the same kind. If the file of its bundle no longer has it, the
  /// bundle takes it over. Otherwise the daemon refuses the bundle as long as the widget exists. The
  /// values of users do not follow from here: the other bundle may still change.
  static func taken(_ known: Widget, by set: String) -> Remark? {
    guard known.applySet != set else { return nil }
    let path = "widgets.\(known.id)"
    guard let other = OwnerName.bundle(known.applySet) else {
      let owner =
        known.applySet.isEmpty
        ? "was created by another program"
        : "belongs to \(OwnerName.words(ofSet: known.applySet))"
      return Remark(
        path: path,
        message: "widget \"\(known.id)\" \(owner), so the daemon refuses this bundle",
        hint: "give the bundle's widget another id, or hand the other widget over with its data: "
          + "`widgetctl get \(known.id) -o yaml | widgetctl apply --set \(set) -f -`",
        isRefusal: true, owner: known.applySet)
    }
    if WidgetOffer.isMade(of: known) {
      return Remark(
        path: path,
        message: "bundle \(other) has given up the widget \"\(known.id)\", so this bundle takes it "
          + "over",
        hint:
          "the values that users have set stay; `widgetctl get \(known.id) --owners` shows them")
    }
    return Remark(
      path: path,
      message: "widget \"\(known.id)\" belongs to bundle \(other), so the daemon refuses this "
        + "bundle",
      hint: "give this bundle's widget another id, or delete the widget from the file of that "
        + "bundle. This bundle then takes the widget over, with the values that users set; "
        + "`widgetctl get \(known.id) --owners` shows these values",
      isRefusal: true, owner: known.applySet)
  }

  /// The words about the values that are lost with a widget that gets another kind.
  private static func lossWords(
    with id: WidgetID, losing paths: [String], hidesValues: Bool, after arrival: Arrival
  ) -> String {
    guard !paths.isEmpty else {
      return hidesValues
        ? "users have set no values on it; events or actions may have"
        : "users and actions have set no values on it"
    }
    let values = "the values that users or actions have set on it: \(shortened(paths))"
    return arrival != .installation
      ? "\(removal(after: arrival)), with \(values); to keep them, give the widget its former kind "
        + "again, and add a new widget with another id" + timeOfRemoval(of: id, after: arrival)
      : "the installation deletes \(values); to keep them, leave the widget in the file with its "
        + "former kind, and add a new widget with another id"
  }

  /// An existing widget with another kind. A bundle replaces its widgets. The widgets of others
  /// stay, and the daemon refuses the bundle.
  ///
  /// - Parameters:
  ///   - paths: the values that are lost with a widget of the bundle.
  ///   - hidesValues: whether there can be further values, which nobody can name.
  ///   - arrival: of the file.
  static func replaced(
    _ spec: WidgetSpec, _ known: Widget, by set: String, losing paths: [String] = [],
    hidesValues: Bool = false, arrival: Arrival = .installation
  ) -> Remark? {
    guard spec.kind != known.kind else { return nil }
    let path = "widgets.\(known.id)"
    if known.applySet == set {
      return Remark(
        path: path,
        message: "widget \"\(known.id)\" changes its kind from \"\(known.kind)\" to "
          + "\"\(spec.kind)\": a new widget replaces it",
        hint: lossWords(
          with: known.id, losing: paths, hidesValues: hidesValues, after: arrival))
    }
    let owner =
      known.applySet.isEmpty
      ? "was created by another program"
      : "belongs to \(OwnerName.words(ofSet: known.applySet))"
    if WidgetOffer.isMade(of: known) {
      return Remark(
        path: path,
        message: "\(OwnerName.words(ofSet: known.applySet)) has given up the widget "
          + "\"\(known.id)\" (kind \"\(known.kind)\"). The daemon refuses this bundle until the "
          + "widget is removed",
        hint: "wait for the removal, or give the bundle's widget the kind \"\(known.kind)\" to "
          + "keep the values that users set; `widgetctl get \(known.id) --field error` has the time "
          + "of the removal",
        isRefusal: true, owner: known.applySet)
    }
    return Remark(
      path: path,
      message: "widget \"\(known.id)\" has the kind \"\(known.kind)\" and \(owner), so the daemon "
        + "refuses this bundle",
      hint: "give the bundle's widget another id, or "
        + (OwnerName.bundle(known.applySet).map { _ in
          "remove the other widget from the file of that bundle"
        } ?? "remove the other widget with `widgetctl rm \(known.id)`")
        + ". Its removal deletes the values that users set on it",
      isRefusal: true, owner: known.applySet)
  }
}
