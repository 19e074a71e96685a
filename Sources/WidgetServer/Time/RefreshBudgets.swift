import WidgetCore
import WidgetModel

/// How often RefreshWidgets may still ask about the widgets of each kind.
///
/// Each kind has a number of calls that comes back evenly over an hour. A value: the time is an argument.
struct RefreshBudgets {
  /// Of each kind that has used some: the calls that were left, and when.
  private var used: [KindName: (left: Double, at: Timestamp)] = [:]

  private static let hour = 3_600.0

  /// What is left for a kind.
  func budget(of kind: KindName, capacity: Int, at now: Timestamp) -> RefreshBudget {
    let left = left(kind, capacity, now)
    var budget = RefreshBudget(kind: kind, remaining: Int(left), capacity: capacity)
    if left < Double(capacity) {
      let missing = left.rounded(.down) + 1 - left
      budget.nextTime = now.advanced(
        by: .milliseconds(
          Int64((missing * RefreshBudgets.hour / Double(capacity) * 1_000).rounded(.up))))
    }
    return budget
  }

  /// Takes one call. Returns whether there was one.
  mutating func take(_ kind: KindName, capacity: Int, at now: Timestamp) -> Bool {
    let left = left(kind, capacity, now)
    guard left >= 1 else { return false }
    used[kind] = (left - 1, now)
    // Of kinds that have everything again, nothing need be known.
    if used.count > 1_024 {
      used = used.filter { self.left($0.key, capacity, now) < Double(capacity) }
    }
    return true
  }

  private func left(_ kind: KindName, _ capacity: Int, _ now: Timestamp) -> Double {
    guard let (left, at) = used[kind] else { return Double(capacity) }
    // A clock that went back gives nothing and takes nothing.
    let seconds = max(0, now.duration(since: at) / .seconds(1))
    return min(Double(capacity), left + seconds * Double(capacity) / RefreshBudgets.hour)
  }
}
