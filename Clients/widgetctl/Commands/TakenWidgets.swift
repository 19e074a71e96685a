import WidgetClient
import WidgetModel

/// The widgets that `apply --force` takes from bundles.
enum TakenWidgets {
  /// A warning for each bundle that loses widgets.
  ///
  /// - Parameter before: all widgets before the call, with their sets.
  static func warnings(
    _ specs: [WidgetSpec], from before: [Widget], to target: String, dryRun: Bool
  ) -> [String] {
    let sets = Dictionary(before.map { ($0.id, $0.applySet) }) { $1 }
    var taken: [String: [String]] = [:]
    for id in specs.compactMap(\.id) {
      guard let owner = sets[id], owner != target, let bundle = RemoveCommand.bundle(of: owner)
      else { continue }
      taken[bundle, default: []].append(id.rawValue)
    }
    return taken.sorted { $0.key < $1.key }.map { bundle, ids in
      let (these, them, each) =
        ids.count == 1 ? ("the widget", "it", "it") : ("these widgets", "them", "each")
      let example = ids.first ?? ""
      return "bundle \(bundle) \(dryRun ? "would lose" : "loses") "
        + "\(BundleOutlook.shortened(ids)) to set \(JSONWriter.quoted(target)); widgetd-host refuses "
        + "the bundle as long as its file declares \(these). Remove \(them) from the file, or give "
        + "\(each) back: `widgetctl get \(example) -o yaml | widgetctl apply --set bundle/\(bundle) "
        + "-f -`"
    }
  }
}
