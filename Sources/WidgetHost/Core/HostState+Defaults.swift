import WidgetBundle
import WidgetModel

extension HostState {
  /// A line for each field whose default the new file changes, if some widgets have another value
  /// because a user or an action has set it.
  ///
  /// Fields that sources set are left out. The next reading sets them again.
  func keptDefaults(of bundle: Bundle, after former: BundleInstance) -> [String] {
    var lines: [String] = []
    for kind in bundle.kinds {
      let name = kind.kind.name
      guard let old = former.bundle.kinds.first(where: { $0.kind.name == name }) else { continue }
      let set = Set(kind.sources.flatMap { $0.assignments.values.map(\.key) })
        .union([BundleScope.statusKey])
      for field in kind.kind.data where !set.contains(field.name) {
        guard let before = old.kind.data.first(where: { $0.name == field.name })?.defaultValue,
          before != field.defaultValue
        else { continue }
        let kept = former.sortedIDs.filter { id in
          guard let widget = former.widgets[id]?.view, widget.kind == name,
            let value = widget.data[field.name],
            bundle.widgets.first(where: { $0.id == id })?.data[field.name] == nil
          else { return false }
          // A value that does not fit the new type does not stay.
          return value != before && value != field.defaultValue && field.fitted(value) != nil
        }
        guard let first = kept.first else { continue }
        let more = kept.count > limits.othersShownMax ? ", …" : ""
        lines.append(
          "the new default of data.\(field.name) has no effect on "
            + kept.prefix(limits.othersShownMax).map(\.rawValue).joined(separator: ", ") + more
            + ": the field was set; \"widgetctl set \(first) --release data.\(field.name)\" sets it to the"
            + " default")
      }
    }
    return lines
  }
}
