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
      let loss =
        "bundle \(bundle) \(dryRun ? "would lose" : "loses") \(BundleOutlook.shortened(ids)) "
        + "to set \(JSONWriter.quoted(target))"
      guard !dryRun else { return loss }
      let (these, them, each) =
        ids.count == 1 ? ("this widget", "it", "it") : ("these widgets", "them", "each")
      // Only --force takes a widget from a bundle.
      let force = RemoveCommand.bundle(of: target) == nil ? "" : " --force"
      return "\(loss). Until the file of bundle \(bundle) no longer declares \(these), "
        + "widgetd-host refuses the bundle. Remove \(them) from the file, or move \(each) back with "
        + "`widgetctl get \(ids.first ?? "") -o yaml | widgetctl apply --set bundle/\(bundle)"
        + "\(force) -f -`"
    }
  }
}
