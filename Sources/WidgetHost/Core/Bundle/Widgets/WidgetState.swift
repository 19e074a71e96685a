import WidgetBundle
import WidgetModel

/// A widget as the host sees it: the daemon's last state, the changes sent since, and the changes
/// to send.
///
/// Expressions read `view`, which is all three on top of each other. One change is under way at a
/// time; later changes are merged and sent next.
struct WidgetState: Sendable {
  /// The daemon's state, as far as known, without the errors of failed reducers.
  private(set) var heard: Widget
  /// The errors that the daemon has set for failed reducers.
  private(set) var reducerErrors: [WidgetError]
  private var unanswered: [(request: RequestID, patch: WidgetPatch)] = []
  private var pending = WidgetPatch()
  private(set) var view: Widget
  /// Changes are held back until the daemon can be reached again.
  private(set) var isHeld = false
  /// The number of sent changes, and of settled changes, which are made, or refused for good.
  private var sentCount: UInt64 = 0
  private(set) var settledCount: UInt64 = 0

  /// The number of the last change: when it is settled, all values so far are settled.
  var newestChange: UInt64 { pending == WidgetPatch() ? sentCount : sentCount + 1 }

  /// The errors that the changes without an answer set.
  var unansweredErrors: [WidgetError?] { unanswered.compactMap { $0.patch.error } }

  /// Whether a change is to add statuses that the daemon's widget does not have yet, such as those
  /// of new sources. The daemon made the content without them, so a failure there can end soon.
  var lacksStatuses: Bool {
    guard case .map(let wanted)? = view.data[BundleScope.statusKey] else { return false }
    guard case .map(let there)? = heard.data[BundleScope.statusKey] else { return !wanted.isEmpty }
    return wanted.keys.contains { there[$0] == nil }
  }

  init(_ widget: Widget) {
    (heard, reducerErrors) = WidgetState.split(widget)
    view = heard
  }

  /// The widget without the errors of failed reducers, which are the daemon's, and these errors.
  private static func split(_ widget: Widget) -> (Widget, [WidgetError]) {
    guard let all = widget.error?.all else { return (widget, []) }
    let ofReducers = all.filter { $0.reason == WidgetError.reducerFailed }
    guard !ofReducers.isEmpty else { return (widget, []) }
    var widget = widget
    widget.error = WidgetError(joining: all.filter { $0.reason != WidgetError.reducerFailed })
    return (widget, ofReducers)
  }

  mutating func set(_ key: String, _ value: Value) {
    guard view.data[key] != value else { return }
    pending.unsetData.removeAll { $0 == key }
    pending.setData[key] = value
    view.data[key] = value
  }

  mutating func unset(_ key: String) {
    guard view.data[key] != nil else { return }
    pending.setData[key] = nil
    pending.unsetData.append(key)
    view.data[key] = nil
  }

  /// Sends the values of keys again, because the daemon may have lost them.
  mutating func sendAgain(_ keys: [String]) {
    for key in keys {
      guard let value = view.data[key] else { continue }
      heard.data[key] = nil
      if !pending.unsetData.contains(key) { pending.setData[key] = value }
    }
    rebuild()
  }

  mutating func set(error: WidgetError?) {
    guard view.error != error else { return }
    pending.error = .some(error)
    view.error = error
  }

  mutating func set(isStale: Bool) {
    guard view.isStale != isStale else { return }
    pending.isStale = isStale
    view.isStale = isStale
  }

  /// Takes the widget from the daemon. Ignores an older revision than the known one, unless
  /// `isAnew`: the daemon has another store, so its revisions cannot be compared.
  mutating func hear(_ widget: Widget, isAnew: Bool) {
    guard isAnew || widget.revision >= heard.revision else { return }
    (heard, reducerErrors) = WidgetState.split(widget)
    isHeld = false
    rebuild()
  }

  /// The patch to send now; nil if there is none.
  ///
  /// - Parameter isForced: do not wait for the answer to the change before.
  mutating func takePatch(isForced: Bool) -> WidgetPatch? {
    guard pending != WidgetPatch(), !isHeld, isForced || unanswered.isEmpty else { return nil }
    let base = base
    var patch = WidgetPatch()
    for entry in pending.setData.entries where base.data[entry.key] != entry.value {
      patch.setData[entry.key] = entry.value
    }
    patch.unsetData = pending.unsetData.filter { base.data[$0] != nil }
    if let error = pending.error, error?.continuing(base.error) != base.error {
      patch.error = .some(error)
    }
    if let isStale = pending.isStale, isStale != base.isStale { patch.isStale = isStale }
    pending = WidgetPatch()
    return patch == WidgetPatch() ? nil : patch
  }

  mutating func sent(_ patch: WidgetPatch, as request: RequestID) {
    unanswered.append((request, patch))
    sentCount += 1
  }

  mutating func answered(_ request: RequestID, revision: Revision) {
    guard let index = unanswered.firstIndex(where: { $0.request == request }) else { return }
    let patch = unanswered.remove(at: index).patch
    settledCount += 1
    if heard.revision < revision {
      patch.change(&heard)
      heard.revision = revision
    }
    rebuild()
  }

  /// A change was refused. If the failure is transient, the change is kept and sent with the next
  /// one.
  ///
  /// - Returns: the change, if it is lost.
  mutating func refused(_ request: RequestID, isTransient: Bool) -> WidgetPatch? {
    guard let index = unanswered.firstIndex(where: { $0.request == request }) else { return nil }
    let patch = unanswered.remove(at: index).patch
    if isTransient {
      var kept = patch
      kept.unsetData.removeAll { pending.setData[$0] != nil }
      for entry in pending.setData.entries { kept.setData[entry.key] = entry.value }
      for key in pending.unsetData where !kept.unsetData.contains(key) {
        kept.setData[key] = nil
        kept.unsetData.append(key)
      }
      if let error = pending.error { kept.error = .some(error) }
      if let isStale = pending.isStale { kept.isStale = isStale }
      pending = kept
      isHeld = true
      sentCount -= 1
    } else {
      settledCount += 1
    }
    rebuild()
    return isTransient ? nil : patch
  }

  mutating func release() { isHeld = false }

  private var base: Widget {
    var widget = heard
    for entry in unanswered { entry.patch.change(&widget) }
    return widget
  }

  private mutating func rebuild() {
    view = base
    pending.change(&view)
  }
}

extension WidgetPatch {
  /// Applies the change to the fields that the host changes.
  fileprivate func change(_ widget: inout Widget) {
    for entry in setData.entries { widget.data[entry.key] = entry.value }
    for key in unsetData { widget.data[key] = nil }
    if let error { widget.error = error }
    if let isStale { widget.isStale = isStale }
  }
}
