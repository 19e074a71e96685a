import WidgetModel

/// The declared kinds and widgets of a bundle that somebody removed, and when to declare them
/// again.
///
/// A value without I/O; time is an argument. One wait covers all removals during the wait. If
/// removals follow each other, the wait doubles. So the host does not race a program that keeps
/// removing its widgets.
struct Restoration: Hashable, Sendable {
  /// The widgets and kinds to restore.
  private(set) var missing: Set<WidgetID> = []
  private(set) var missingKinds: Set<KindName> = []
  /// The declared ids that belong to somebody else by now. The log does not call them restored.
  private(set) var taken: Set<WidgetID> = []
  private var attempts = 0
  /// The time of the last repeated declaration.
  private var last: Duration?

  var isComplete: Bool { missing.isEmpty && missingKinds.isEmpty && taken.isEmpty }

  /// Records removed widgets and kinds.
  mutating func lost(
    _ ids: Set<WidgetID> = [], kinds: Set<KindName> = [], at uptime: Duration, _ limits: HostLimits
  ) {
    forgetAttempts(at: uptime, limits)
    missing.formUnion(ids)
    taken.subtract(ids)
    missingKinds.formUnion(kinds)
  }

  /// Records that somebody else has a widget with this id.
  mutating func taken(_ id: WidgetID, at uptime: Duration, _ limits: HostLimits) {
    forgetAttempts(at: uptime, limits)
    missing.remove(id)
    taken.insert(id)
  }

  /// The bundle has the widget again.
  mutating func found(_ id: WidgetID) {
    missing.remove(id)
    taken.remove(id)
  }

  /// If widgets have stayed longer than the longest wait, their removal is not part of a loop.
  private mutating func forgetAttempts(at uptime: Duration, _ limits: HostLimits) {
    if isComplete, let last, uptime - last >= limits.restoreWaitMax { attempts = 0 }
  }

  /// The wait before they are declared again.
  func wait(_ limits: HostLimits) -> Duration {
    var wait = limits.restoreWaitInitial
    for _ in 0..<min(attempts, 32) where wait < limits.restoreWaitMax { wait *= 2 }
    return min(wait, limits.restoreWaitMax)
  }

  /// Returns the missing widgets and kinds to declare now, after the wait. Removals from now on count as
  /// new.
  mutating func begin(at uptime: Duration) -> (ids: [WidgetID], kinds: [KindName]) {
    attempts += 1
    last = uptime
    defer { settle() }
    return (
      missing.sorted(by: WidgetID.inOrder),
      missingKinds.sorted { $0.rawValue.precedesByBytes($1.rawValue) }
    )
  }

  /// Forgets the removals, because everything was declared for another reason.
  mutating func settle() {
    missing = []
    missingKinds = []
    taken = []
  }
}
