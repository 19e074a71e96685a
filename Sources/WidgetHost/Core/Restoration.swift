import WidgetModel

/// Which declared kinds and widgets of a bundle are gone, and when to declare them again.
///
/// A value without I/O; time comes in as an argument. One wait covers all removals that fall into it. If
/// removals follow one another, the wait doubles, so the host and a program that removes its widgets never
/// chase each other.
struct Restoration: Hashable, Sendable {
  /// What is to be restored: widgets, and kinds.
  private(set) var missing: Set<WidgetID> = []
  private(set) var missingKinds: Set<KindName> = []
  private var attempts = 0
  /// When the widgets were last declared again.
  private var last: Duration?

  var isComplete: Bool { missing.isEmpty && missingKinds.isEmpty }

  /// Takes note of removed widgets and kinds.
  mutating func lost(
    _ ids: Set<WidgetID> = [], kinds: Set<KindName> = [], at uptime: Duration, _ limits: HostLimits
  ) {
    // What stayed for the longest wait was not removed in a loop.
    if isComplete, let last, uptime - last >= limits.restoreWaitMax { attempts = 0 }
    missing.formUnion(ids)
    missingKinds.formUnion(kinds)
  }

  /// The wait before they are declared again.
  func wait(_ limits: HostLimits) -> Duration {
    var wait = limits.restoreWaitInitial
    for _ in 0..<min(attempts, 32) where wait < limits.restoreWaitMax { wait *= 2 }
    return min(wait, limits.restoreWaitMax)
  }

  /// Takes what is to be declared now, after the wait. What is removed from now on is another removal.
  mutating func begin(at uptime: Duration) -> (ids: [WidgetID], kinds: [KindName]) {
    attempts += 1
    last = uptime
    defer { settle() }
    return (
      missing.sorted(by: WidgetID.inOrder),
      missingKinds.sorted { $0.rawValue.precedesByBytes($1.rawValue) }
    )
  }

  /// Everything was declared for another reason.
  mutating func settle() {
    missing = []
    missingKinds = []
  }
}
