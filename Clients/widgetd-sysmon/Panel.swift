import WidgetModel

/// What this program knows: the last readings, and its widgets as the daemon holds them.
///
/// A value without I/O or clock: readings, widgets and events go in, patches come out. It holds no
/// state that the daemon does not hold, so nothing is lost when this program ends.
struct Panel {
  private var latest: Reading?
  private var previous: Reading?
  /// The widgets as last heard of, whether from the watch or from an answer.
  private var known: [WidgetID: Widget] = [:]

  /// Takes a new reading.
  mutating func record(_ reading: Reading) {
    previous = latest
    latest = reading
  }

  /// Takes a widget as the daemon holds it. An older one than is known already is ignored.
  mutating func learn(_ widget: Widget) {
    if let before = known[widget.id], before.revision > widget.revision { return }
    known[widget.id] = widget
  }

  mutating func forget(_ id: WidgetID) { known[id] = nil }

  /// Forgets all widgets, because the daemon's store is another.
  mutating func forgetAll() { known = [:] }

  /// What has to change so that the widgets show the last reading and count as fresh. Widgets that
  /// the daemon does not have are left out.
  func refreshments() -> [(id: WidgetID, patch: WidgetPatch)] {
    Provided.allCases.compactMap { provided in
      guard let id = WidgetID(provided.id), let widget = known[id] else { return nil }
      let patch = refreshment(of: provided, widget, unit: provided.unit(in: widget.data))
      return patch == WidgetPatch() ? nil : (id, patch)
    }
  }

  private func refreshment(
    of provided: Provided, _ widget: Widget, unit: String?
  ) -> WidgetPatch {
    var patch = WidgetPatch()
    if widget.isStale { patch.isStale = false }
    if provided == .counter, widget.data["n"] == nil { patch.setData["n"] = .int(0) }
    guard let latest else { return patch }
    let data = provided.data(latest, after: previous, unit: unit)
    for entry in data.entries where widget.data[entry.key] != entry.value {
      patch.setData[entry.key] = entry.value
    }
    patch.unsetData = widget.data.keys.filter {
      $0.hasPrefix(interfacePrefix) && data[$0] == nil
    }
    return patch
  }

  /// What an event does to a widget; nil if it does nothing.
  ///
  /// A click changes the unit of a widget that has several, and counts on the counter; `reset` sets
  /// the counter to 0.
  func consequence(of event: Event, on widget: Widget) -> WidgetPatch? {
    guard let provided = Provided.allCases.first(where: { $0.id == widget.id.rawValue }) else {
      return nil
    }
    switch (provided, event.name) {
    case (.counter, "click"):
      var count: Int64 = 0
      if case .int(let n)? = widget.data["n"] { count = n }
      return WidgetPatch(setData: ["n": .int(count == .max ? .max : count + 1)])
    case (.counter, "reset"):
      return WidgetPatch(setData: ["n": .int(0)])
    case (_, "click"):
      guard let unit = provided.nextUnit(in: widget.data) else { return nil }
      var patch = refreshment(of: provided, widget, unit: unit)
      patch.setData["unit"] = .string(unit)
      return patch
    default:
      return nil
    }
  }
}

/// When to take the next sample.
enum Schedule {
  /// The time from `now` to the next multiple of `interval` since 1970: samples once a second fall
  /// on the second. More than 0 and at most `interval`, which must be positive.
  static func delay(from now: Timestamp, interval: Duration) -> Duration {
    let step = interval / .nanoseconds(1)
    guard step >= 1, step < 9e18 else { return interval }
    let nanoseconds = Int64(step)
    let past = now.nanosecondsSinceEpoch % nanoseconds
    return .nanoseconds(nanoseconds - (past < 0 ? past + nanoseconds : past))
  }
}
