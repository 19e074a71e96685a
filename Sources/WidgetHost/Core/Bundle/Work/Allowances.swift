/// What a bundle may still do: compute, fire triggers, and repeat reports of failures.
struct Allowances: Sendable {
  private var costs: FairAllowance<Sharer>
  private var firings: FairAllowance<Sharer>
  private var reports: Allowance

  init(_ limits: HostLimits) {
    costs = FairAllowance(burst: limits.costBurst, perSecond: limits.costPerSecond)
    firings = FairAllowance(burst: limits.triggersBurst, perSecond: limits.triggersPerSecond)
    reports = Allowance(burst: limits.repeatsBurst, perSecond: limits.repeatsPerSecond)
  }

  mutating func refill(at uptime: Duration) {
    costs.refill(at: uptime)
    firings.refill(at: uptime)
    reports.refill(at: uptime)
  }

  /// The cost that evaluations may still have. Not positive if earlier ones have spent it.
  func cost(for sharer: Sharer) -> Int { Int(costs.available(to: sharer)) }

  mutating func spend(cost: Int, for sharer: Sharer) { costs.take(cost, by: sharer) }

  /// Takes the allowance for a firing of a trigger.
  ///
  /// - Returns: false if nothing is left.
  mutating func takeFiring(for sharer: Sharer) -> Bool { firings.takeOne(by: sharer) }

  /// Takes the allowance for a report of a failure that an event has caused again.
  ///
  /// - Returns: false if nothing is left.
  mutating func takeReport() -> Bool {
    guard reports.available >= 1 else { return false }
    reports.take(1)
    return true
  }
}
