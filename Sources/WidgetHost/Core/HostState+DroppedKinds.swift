import WidgetBundle
import WidgetModel

/// A kind that a new version of a bundle lacks.
struct DroppedKind: Hashable, Sendable {
  let name: KindName
  /// The widgets of the kind, in order.
  let widgets: [WidgetID]
  /// Those of them that are the bundle's own.
  let own: Set<WidgetID>

  /// The widgets that stay without the kind: those of others, and those in the new file. Other
  /// widgets of the bundle go.
  func staying(in bundle: Bundle) -> [WidgetID] {
    widgets.filter { id in
      !own.contains(id) || bundle.widgets.contains { $0.id == id && $0.kind == name }
    }
  }

  /// `the file no longer has the kind "gauge", so 1 widget loses its content …`
  ///
  /// - Parameters:
  ///   - widgets: those that stay.
  ///   - countMax: the maximum number of widgets in the line.
  func words(on widgets: [WidgetID], countMax: Int) -> String {
    let start = "the file no longer has the kind \"\(name)\""
    guard !widgets.isEmpty else { return "\(start); no widget needs it" }
    let ids = widgets.prefix(countMax).map(\.rawValue).joined(separator: ", ")
    let effect =
      widgets.count == 1
      ? "1 widget loses its content, but keeps"
      : "\(widgets.count) widgets lose their content, but keep"
    return "\(start), so \(effect) the values that somebody has set: \(ids)"
      + (widgets.count > countMax ? ", …" : "")
      + "; to get the content back, put the kind into the file again, or into another bundle"
  }
}

// The lines of the log about kinds that a new version lacks.
extension HostState {
  /// The kinds that a version has, and the next one lacks.
  static func droppedKinds(of before: RunningBundle, by next: Bundle) -> [DroppedKind] {
    let names = Set(next.kinds.map(\.kind.name))
    // The daemon still has the kinds of the version before that.
    guard before.isTaken else { return before.droppedKinds.filter { !names.contains($0.name) } }
    let instance = before.instance
    let set = provider(of: next.id)
    return before.settable.names.filter { !names.contains($0) }.map { name in
      let widgets = instance.sortedIDs.filter { instance.widgets[$0]?.view.kind == name }
      let own = widgets.filter { instance.widgets[$0]?.view.applySet == set }
      return DroppedKind(name: name, widgets: widgets, own: Set(own))
    }
  }

  /// The daemon has taken the version that lacks the kinds.
  mutating func reportDroppedKinds(of id: String) -> [Output] {
    guard let bundle = running[id]?.instance.bundle else { return [] }
    return running.takeDroppedKinds(of: id).map { dropped -> Output in
      let staying = dropped.staying(in: bundle)
      let line = "bundle \(id): \(dropped.words(on: staying, countMax: limits.othersShownMax))"
      return staying.isEmpty ? .note(line) : .report(line)
    }
  }
}
