import WidgetBundle
import WidgetModel

/// The widgets of a bundle's kinds, and which of them have changed in this round.
///
/// Each change of a widget touches it. A round checks the touched widgets again, and sends their
/// changes. A call for a widget that was removed changes nothing.
struct WidgetTable: Sendable {
  private var states: [WidgetID: WidgetState] = [:]
  private var touched: Set<WidgetID> = []

  subscript(id: WidgetID) -> WidgetState? { states[id] }

  var count: Int { states.count }

  /// All widgets, in order.
  var ids: [WidgetID] { states.keys.sorted(by: WidgetID.inOrder) }

  func contains(where predicate: (WidgetState) -> Bool) -> Bool {
    states.values.contains(where: predicate)
  }

  mutating func add(_ widget: Widget) {
    states[widget.id] = WidgetState(widget)
    touched.insert(widget.id)
  }

  mutating func remove(_ id: WidgetID) {
    states[id] = nil
    touched.remove(id)
  }

  // MARK: The round

  mutating func touch(_ id: WidgetID) { touched.insert(id) }

  /// The widgets that have changed in this round, in order.
  var touchedIDs: [WidgetID] { touched.sorted(by: WidgetID.inOrder) }

  mutating func endRound() { touched = [] }

  // MARK: Changes by the daemon

  /// See `WidgetState.hear`.
  mutating func hear(_ widget: Widget, isAnew: Bool) {
    states[widget.id]?.hear(widget, isAnew: isAnew)
    touched.insert(widget.id)
  }

  /// The daemon has made a change.
  mutating func answered(_ id: WidgetID, _ request: RequestID, revision: Revision) {
    states[id]?.answered(request, revision: revision)
    touched.insert(id)
  }

  /// The daemon has refused a change.
  ///
  /// - Returns: the change, if it is lost.
  mutating func refused(
    _ id: WidgetID, _ request: RequestID, isTransient: Bool
  ) -> WidgetPatch? {
    touched.insert(id)
    return states[id]?.refused(request, isTransient: isTransient) ?? nil
  }

  /// Ends the wait after a change that was refused for now.
  mutating func release(_ id: WidgetID) {
    states[id]?.release()
    touched.insert(id)
  }

  // MARK: Changes by the bundle

  mutating func set(_ id: WidgetID, _ key: String, _ value: Value) {
    states[id]?.set(key, value)
    touched.insert(id)
  }

  mutating func unset(_ id: WidgetID, _ key: String) {
    states[id]?.unset(key)
    touched.insert(id)
  }

  mutating func set(_ id: WidgetID, error: WidgetError?) {
    states[id]?.set(error: error)
    touched.insert(id)
  }

  mutating func set(_ id: WidgetID, isStale: Bool) {
    states[id]?.set(isStale: isStale)
    touched.insert(id)
  }

  /// Sends the values of keys again, because the daemon may have lost them.
  mutating func sendAgain(_ id: WidgetID, _ keys: [String]) {
    states[id]?.sendAgain(keys)
    touched.insert(id)
  }

  /// The statuses of the sources and actions in a widget's data, with the outcomes of events.
  func statuses(of id: WidgetID) -> ValueMap {
    guard case .map(let all)? = states[id]?.view.data[BundleScope.statusKey] else { return [:] }
    return all
  }

  mutating func set(_ id: WidgetID, statuses: ValueMap) {
    set(id, BundleScope.statusKey, .map(statuses))
  }

  // MARK: Patches

  /// See `WidgetState.takePatch`.
  mutating func takePatch(_ id: WidgetID, isForced: Bool) -> WidgetPatch? {
    states[id]?.takePatch(isForced: isForced)
  }

  mutating func sent(_ id: WidgetID, _ patch: WidgetPatch, as request: RequestID) {
    states[id]?.sent(patch, as: request)
  }
}

extension WidgetID {
  static func inOrder(_ a: WidgetID, _ b: WidgetID) -> Bool { a.rawValue < b.rawValue }
}
