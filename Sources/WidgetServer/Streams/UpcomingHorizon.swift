import WidgetModel

/// The number of dates that the horizons of all groups may keep. Each different filter is a group, so
/// a user can have many. Confined to the event loop.
final class HorizonBudget {
  private let datesMax: Int
  private(set) var dates = 0

  init(datesMax: Int) { self.datesMax = datesMax }

  /// Takes room for a date. Returns false if there is none.
  fileprivate func take() -> Bool {
    guard dates < datesMax else { return false }
    dates += 1
    return true
  }

  fileprivate func give(_ count: Int) { dates -= count }
}

/// The date until which readers know the content of widgets, because they got its entries in
/// advance.
///
/// Until that date, the daemon need not wake for the changes that time makes to these widgets.
struct UpcomingHorizon {
  /// False if readers may know less than the horizon. Then each change has to be sent at its date.
  private(set) var isKnown = true
  private var dates = DateQueue<WidgetID>()
  private var budget: HorizonBudget?

  /// Notes that readers may know less than the horizon. The dates are not needed any more.
  mutating func forget() {
    isKnown = false
    budget?.give(dates.count)
    dates = DateQueue()
  }

  /// A widget's entries are known until a date. If the budget has no room for it, the horizon is
  /// forgotten.
  mutating func set(_ id: WidgetID, _ date: Timestamp, within budget: HorizonBudget) {
    guard isKnown, dates[id] != date else { return }
    self.budget = budget
    guard dates[id] != nil || budget.take() else { return forget() }
    dates.set(id, to: date)
  }

  /// All of a widget's entries are known, or it is gone.
  mutating func remove(_ id: WidgetID) {
    if dates.remove(id) { budget?.give(1) }
  }

  /// The first date at which readers need more entries; nil if there is none.
  func date() -> Timestamp? { dates.first() }
}
