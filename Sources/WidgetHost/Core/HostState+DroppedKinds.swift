import WidgetBundle
import WidgetModel

/// The widgets of the kinds of a version that the daemon has taken, as the host last knew them.
struct FormerWidgets: Hashable, Sendable {
  struct OfKind: Hashable, Sendable {
    /// In order.
    var ids: [WidgetID] = []
    /// Those of them that are the bundle's own.
    var own: Set<WidgetID> = []

    /// The widgets that stay without the kind: those of others, those in the new file, and those
    /// that wait for their removal. Other widgets of the bundle are gone.
    func staying(
      in bundle: Bundle, without kind: KindName, beside waiting: Set<WidgetID>
    ) -> [WidgetID] {
      ids.filter { id in
        !own.contains(id) || waiting.contains(id)
          || bundle.widgets.contains { $0.id == id && $0.kind == kind }
      }
    }
  }

  private(set) var kinds: [KindName: OfKind] = [:]
  /// Whether the host knew all widgets of the daemon.
  let areComplete: Bool

  init(of bundle: RunningBundle, isDaemonAway: Bool) {
    let instance = bundle.instance
    let set = HostState.provider(of: instance.bundle.id)
    areComplete = bundle.knowsWidgets && !isDaemonAway
    for id in instance.sortedIDs {
      guard let widget = instance.widgets[id]?.view else { continue }
      kinds[widget.kind, default: OfKind()].ids.append(id)
      if widget.applySet == set { kinds[widget.kind]?.own.insert(id) }
    }
  }
}

// The lines of the log about kinds that a new version lacks.
extension HostState {
  /// The widgets of the version that the daemon has taken last, when another one begins.
  func formerWidgets(of before: RunningBundle) -> FormerWidgets? {
    // The daemon still has the widgets of the version before that.
    guard before.isTaken else { return before.formerWidgets }
    return FormerWidgets(of: before, isDaemonAway: isDaemonAway)
  }

  /// The daemon has taken a version. The kinds that the last such version had, of this host or of
  /// an earlier one, may be gone.
  mutating func reportDroppedKinds(of id: String) -> [Output] {
    guard let current = running[id] else { return [] }
    let bundle = current.instance.bundle
    let waiting = Set(current.held.map(\.id))
    let names = Set(bundle.kinds.map(\.kind.name))
    let former = running.takeFormerWidgets(of: id)
    return formerData.provided(by: id).filter { !names.contains($0) }.map { kind -> Output in
      let start = "bundle \(id): the file no longer has the kind \"\(kind)\""
      if let other = running.bundle(declaring: kind, except: id) {
        return .note("\(start); bundle \(other) declares it")
      }
      let staying =
        former?.kinds[kind]?.staying(in: bundle, without: kind, beside: waiting) ?? []
      guard !staying.isEmpty else {
        let isUnneeded = former?.areComplete == true && !current.heldKinds.contains(kind)
        return .note(isUnneeded ? "\(start); no widget needs it" : start)
      }
      return .report("\(start)\(effect(on: staying, waiting))")
    }
  }

  /// `, so 1 widget loses its content …`
  ///
  /// - Parameter waiting: those that wait for their removal.
  private func effect(on widgets: [WidgetID], _ waiting: Set<WidgetID>) -> String {
    let ids = widgets.prefix(limits.othersShownMax).map { id in
      waiting.contains(id) ? "\(id) (waits for its removal)" : id.rawValue
    }.joined(separator: ", ")
    let effect =
      widgets.count == 1
      ? "1 widget loses its content, and keeps"
      : "\(widgets.count) widgets lose their content, and keep"
    return ", so \(effect) only the values that have an owner or differ from the default: \(ids)"
      + (widgets.count > limits.othersShownMax ? ", …" : "")
      + "; to get the content back, put the kind into the file again, or into another bundle"
  }
}
