/// What a bundle may still do: compute, fire triggers, and repeat reports of failures.
struct Allowances: Sendable {
  private var costs: Allowance
  private var firings: Allowance
  private var reports: Allowance

  init(_ limits: HostLimits) {
    costs = Allowance(burst: limits.costBurst, perSecond: limits.costPerSecond)
    firings = Allowance(burst: limits.triggersBurst, perSecond: limits.triggersPerSecond)
    reports = Allowance(burst: limits.repeatsBurst, perSecond: limits.repeatsPerSecond)
  }

  mutating func refill(at uptime: Duration) {
    costs.refill(at: uptime)
    firings.refill(at: uptime)
    reports.refill(at: uptime)
  }

  /// The cost that evaluations may still have. Not positive if earlier ones have spent it.
  var cost: Int { Int(costs.available) }

  mutating func spend(cost: Int) { costs.take(cost) }

  /// Takes the allowance for a firing of a trigger.
  ///
  /// - Returns: false if nothing is left.
  mutating func takeFiring() -> Bool { Allowances.takeOne(&firings) }

  /// Takes the allowance for a report of a failure that an event has caused again.
  ///
  /// - Returns: false if nothing is left.
  mutating func takeReport() -> Bool { Allowances.takeOne(&reports) }

  private static func takeOne(_ allowance: inout Allowance) -> Bool {
    guard allowance.available >= 1 else { return false }
    allowance.take(1)
    return true
  }
}
