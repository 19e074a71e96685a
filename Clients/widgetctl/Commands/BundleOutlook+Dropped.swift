import WidgetClient
import WidgetModel

// The kinds that the file of a bundle no longer has.
extension BundleOutlook {
  /// A remark for each of these kinds that widgets of others have. They stay, without their kind.
  ///
  /// - Parameters:
  ///   - sets: of the bundle, and of the bundles whose widgets it gets.
  ///   - declared: the widgets that the file has.
  ///   - replaced: the set of another bundle that the installation replaces.
  static func dropped(
    _ kinds: [KindName], of sets: Set<String>, keeping declared: Set<WidgetID>,
    replacing replaced: String? = nil, _ client: WidgetClient, _ options: CallOptions
  ) async throws -> [Remark] {
    var remarks: [Remark] = []
    for kind in kinds {
      let widgets = try await client.all(
        Selector(kinds: [kind]), ReadMask(paths: ["id", "apply_set"]), options
      ).map(\.widget).filter { !sets.contains($0.applySet) && !declared.contains($0.id) }
      remarks += [dropped(kind, leaving: widgets, replacing: replaced)].compactMap(\.self)
    }
    return remarks
  }

  /// - Parameter widgets: of others, with the kind.
  static func dropped(
    _ kind: KindName, leaving widgets: [Widget], replacing replaced: String? = nil
  ) -> Remark? {
    guard !widgets.isEmpty else { return nil }
    let names = widgets.sorted { $0.id.rawValue < $1.id.rawValue }.map { widget in
      widget.applySet.isEmpty
        ? widget.id.rawValue : "\(widget.id) (\(OwnerName.words(ofSet: widget.applySet)))"
    }
    let (them, step) =
      names.count == 1
      ? ("the widget then shows its data", "give the widget another kind first")
      : ("the widgets then show their data", "give the widgets another kind first")
    let change =
      if let replaced {
        "the installation removes the kind \"\(kind)\" of \(OwnerName.words(ofSet: replaced))"
      } else {
        "the bundle no longer has the kind \"\(kind)\""
      }
    return Remark(
      path: "kinds.\(kind)",
      message: "\(change), so \(StayingWidgets.words(names.count)): \(shortened(names))",
      hint: "\(them) as a table; to avoid this, "
        + (replaced == nil ? "leave the kind in the file" : step))
  }
}
