import WidgetBundle
import WidgetModel

// The line of the log about a removed bundle.
extension HostState {
  /// The things that go with a removed bundle, for the log. The daemon knows them best, so its answer
  /// completes this note (`add`).
  public struct RemovalNote: Hashable, Sendable {
    public var bundle: String
    /// The number of the bundle's widgets; nil if nobody knows it.
    public var widgetCount: Int?
    /// The values that users or actions have set on these widgets, such as `list data.items`.
    public var lost: [String] = []
    /// The values by these names, in short.
    var values: [String: String] = [:]
    /// Those of them that the log has in lines of their own, each with its value and its origin.
    var told: Set<String> = []
    /// The number of widgets of others with the bundle's kinds, and the first ones with their owners.
    public var otherCount = 0
    public var others: [String] = []
    /// The data that no source sets, of the kinds of widgets that no instance serves: only an earlier
    /// host ran the bundle, the daemon has not taken the version, or the file lacks the widgets.
    var settable = SettableData()

    /// The daemon has removed widgets.
    mutating func add(_ results: [ApplyResult]) {
      let count = results.count { $0.action == .deleted }
      guard count > 0 else { return }
      widgetCount = count
      for value in BundleClaims.lost(results) { add(value.name, value.field.declared) }
    }

    /// The widgets of the bundle are known, with the owners of their fields. Adds the values of
    /// events and actions, whose owners the daemon does not record.
    mutating func add(_ widgets: [ListedWidget]) {
      let set = HostState.provider(of: bundle)
      for item in widgets where item.widget.applySet == set {
        let kind = item.widget.kind
        guard let rule = settable[kind].map({ LostFields(kind, settable: $0) }) else { continue }
        for field in LostFields.values(of: item.widget, item.owners, by: rule)
        where field.owner == FieldOwner.unrecorded {
          add("\(item.widget.id) \(field.path)", field.declared)
        }
      }
    }

    mutating func add(_ name: String, _ value: Value?) {
      if !lost.contains(name) { lost.append(name) }
      // The daemon's value is the one that was lost.
      if let value { values[name] = JSONText.short(value) }
    }

    /// The log has these values.
    mutating func tell(_ values: [BundleClaims.KeptField]) { told.formUnion(values.map(\.name)) }

    /// `bundle a removed: 2 widgets, with data that users or actions had set: list data.count = 7`
    ///
    /// - Parameter countMax: the maximum number of values, and of widgets of others.
    func text(countMax: Int) -> String {
      guard let count = widgetCount else {
        return "bundle \(bundle) removed with its widgets and their data"
      }
      func list(_ names: [String], of count: Int) -> String {
        names.prefix(countMax).joined(separator: ", ") + (count > countMax ? ", …" : "")
      }
      var words = "bundle \(bundle) removed: \(count) widget\(count == 1 ? "" : "s")"
      let untold = lost.filter { !told.contains($0) }
        .map { name in name + (values[name].map { " = \($0)" } ?? "") }
      if !untold.isEmpty {
        words += ", with data that users or actions had set: " + list(untold, of: untold.count)
      }
      guard otherCount > 0 else { return words }
      return words
        + (otherCount == 1
          ? "; 1 widget of others keeps its data, but loses its kind: "
          : "; \(otherCount) widgets of others keep their data, but lose their kind: ")
        + list(others, of: otherCount)
    }
  }

  /// The note about a bundle that runs.
  func removalNote(of ended: RunningBundle) -> RemovalNote {
    let instance = ended.instance
    var unserved = settable(of: ended)
    if ended.isTaken { unserved.keep(only: ended.heldKinds) }
    var note = RemovalNote(
      bundle: instance.bundle.id, widgetCount: instance.bundle.widgets.count,
      otherCount: instance.others.ids.count,
      others: instance.others.names(countMax: limits.othersShownMax), settable: unserved)
    for set in setValues(of: instance, on: instance.sortedIDs) {
      note.add("\(set.widget) \(set.path)", set.value)
    }
    return note
  }

  /// The note about a bundle that only an earlier host ran.
  func removalNote(of known: Remembered) -> RemovalNote {
    RemovalNote(
      bundle: known.id, widgetCount: known.shown["widgets"] == nil ? nil : known.widgetCount,
      otherCount: known.otherCount, others: known.others, settable: known.settable)
  }

  /// Removes what the daemon has of a bundle.
  func withdraw(_ note: RemovalNote) -> [Output] {
    let removal = Output.withdraw(id: note.bundle, note: note)
    guard isDaemonAway else { return [removal] }
    let words = "bundle \(note.bundle): its widgets are removed when the daemon is back"
    return [removal, .note(words)]
  }

  /// A value of a bundle's widget that is not the value of the bundle's file.
  struct SetValue: Hashable, Sendable {
    let widget: WidgetID
    /// `data.KEY`, `parameters.KEY`, `labels.KEY`, `visible` or `enabled`.
    let path: String
    let value: Value
  }

  /// The values of a bundle's widgets that users or actions have set. The watch does not tell who has
  /// set them.
  private func setValues(of instance: BundleInstance, on ids: [WidgetID]) -> [SetValue] {
    let bundle = instance.bundle
    var found: [SetValue] = []
    for id in ids {
      guard let widget = instance.widgets[id]?.view,
        widget.applySet == HostState.provider(of: bundle.id),
        let kind = bundle.kinds.first(where: { $0.kind.name == widget.kind })
      else { continue }
      let spec = bundle.widgets.first { $0.id == id }
      found += LostFields(kind).values(of: widget, declaredAs: spec).map {
        SetValue(widget: id, path: $0.path, value: $0.declared ?? .null)
      }
    }
    return found
  }

  /// A line for each value that goes with a widget of the file that somebody else has removed, and
  /// perhaps made again.
  ///
  /// A widget that a snapshot lacks may exist: the watch can have lost its kind.
  func losses(by input: BundleInput, of id: String) -> [String] {
    guard let instance = running[id]?.instance else { return [] }
    func isReplaced(_ new: Widget) -> Bool {
      instance.widgets[new.id].map { $0.heard.createdRevision != new.createdRevision } ?? false
    }
    let gone: [WidgetID]
    switch input {
    case .removed(let id): gone = [id]
    case .widget(let new), .fetched(_, let new): gone = isReplaced(new) ? [new.id] : []
    case .snapshot(let all): gone = all.filter(isReplaced).map(\.id)
    default: return []
    }
    // The host itself removes only widgets that the file lacks, or has with another kind. The daemon
    // tells it the values that go with these.
    let removed = gone.filter { widget in
      let kind = instance.widgets[widget]?.view.kind
      return instance.bundle.widgets.contains { $0.id == widget && $0.kind == kind }
    }
    let values = setValues(of: instance, on: removed)
    let lines = values.prefix(limits.failuresShownMax).map { lost in
      "widget \(lost.widget) was removed, and with it the value of \(lost.path), "
        + "\(JSONText.short(lost.value)), "
        + "which a user or an action had set"
    }
    let rest = values.count - lines.count
    guard rest > 0 else { return lines }
    return lines + [
      "\(rest) more value\(rest == 1 ? "" : "s") of the removed widgets "
        + "\(rest == 1 ? "is" : "are") gone, too"
    ]
  }
}
