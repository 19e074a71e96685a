import WidgetModel

/// The changed widgets that the stacks with an expression have not been compared with yet.
///
/// Each changed widget is compared with each of these stacks, one after the other, so that a step
/// can end after any comparison. A comparison takes the widget as it is then. So it does not matter
/// how often the widget has changed, or whether its change was taken back. A widget that changes
/// again is compared again, with all stacks.
///
/// The comparisons are in rounds. A stack selects its widgets again after the round, so a round
/// makes each stack select at most once. If too many widgets have changed, all stacks select again,
/// and nothing is compared.
struct StackNews {
  /// The widgets that have changed since the round began.
  private var changed = WidgetQueue()
  /// The rest of the widgets of the round.
  private var round = WidgetQueue()
  /// The widget that is being compared, and the rest of the stacks for it.
  private var current: WidgetID?
  private var stacks: ArraySlice<WidgetID> = []
  /// The stacks that must select their widgets again after the round.
  private var outdated = WidgetQueue()
  /// Whether more than `countMax` widgets have changed. Then all stacks select again.
  private var isTooMany = false

  /// The maximum number of changed widgets that are compared.
  static let countMax = 1_024

  var isOver: Bool {
    stacks.isEmpty && round.isEmpty && outdated.isEmpty && changed.isEmpty && !isTooMany
  }

  /// A widget was added, changed or removed, or its change was taken back. O(1).
  mutating func note(_ id: WidgetID) {
    guard !isTooMany else { return }
    changed.append(id)
    guard changed.count > StackNews.countMax else { return }
    self = StackNews()
    isTooMany = true
  }

  /// A stack must select its widgets again.
  mutating func noteOutdated(_ stack: WidgetID) { outdated.append(stack) }

  /// The next comparison; nil at the end of the round. A stack that is added during a round has
  /// selected its widgets after their changes.
  mutating func next(_ all: [WidgetID]) -> (widget: WidgetID, stack: WidgetID)? {
    while true {
      if let current, let stack = stacks.popFirst() { return (current, stack) }
      current = round.popFirst()
      guard current != nil else { return nil }
      stacks = all[...]
    }
  }

  /// Begins the next round. Returns the stacks that must select their widgets again.
  mutating func endRound(_ all: [WidgetID]) -> [WidgetID] {
    var found: [WidgetID] = []
    while let stack = outdated.popFirst() { found.append(stack) }
    if isTooMany { found = all }
    (round, changed, isTooMany) = (changed, WidgetQueue(), false)
    return found
  }
}
