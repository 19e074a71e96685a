import WidgetModel

/// The watched widgets, as the daemon reports them.
struct Audience: Equatable, Sendable {
  /// Nil if the daemon does not report them.
  private var watched: Set<WidgetID>?
  /// Whether the next change has all watched widgets.
  private var isBeginning = false

  /// Whether a widget is watched. True for all widgets if the daemon does not report it.
  func contains(_ id: WidgetID) -> Bool { watched?.contains(id) ?? true }

  /// Begins a session. The last state stays until the daemon has sent a new one.
  mutating func begin(isTold: Bool) {
    isBeginning = isTold
    watched = isTold ? watched ?? [] : nil
  }

  /// Applies a change. The first of a session has all widgets in `attached`.
  mutating func change(attached: [WidgetID], detached: [WidgetID]) {
    let known = isBeginning ? [] : watched ?? []
    isBeginning = false
    watched = known.union(attached).subtracting(detached)
  }

  mutating func remove(_ id: WidgetID) { watched?.remove(id) }
}
