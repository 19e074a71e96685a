/// An allowance that sharers have together, each with an equal share. Time is an argument.
///
/// The sharers are those who have used something lately. A lone sharer has the full amounts. A sharer
/// who begins has a full share at once, so nobody can use up the share of somebody else. Each share
/// refills completely in the same time, however many sharers there are. A sharer with a full share is
/// forgotten.
struct FairAllowance<Sharer: Hashable & Sendable>: Sendable {
  /// The number of sharers with a separate share; further sharers have one share together.
  static var sharersMax: Int { 16 }

  private enum Key: Hashable, Sendable {
    case one(Sharer)
    case others
  }

  private let burst: Double
  private let perSecond: Double
  private let fullShares: Double
  /// The amounts of the sharers whose share is not full.
  private var amounts: [Key: Double] = [:]
  private var last: Duration?

  /// - Parameters:
  ///   - burst: the amount at once of one sharer.
  ///   - perSecond: the amount per second of one sharer.
  ///   - fullShares: the number of sharers who can have the full amounts side by side.
  init(burst: Int, perSecond: Int, fullShares: Int = 1) {
    self.burst = Double(burst)
    self.perSecond = Double(perSecond)
    self.fullShares = Double(fullShares)
  }

  mutating func refill(at uptime: Duration) {
    defer { self.last = uptime }
    guard let last, uptime > last, !amounts.isEmpty else { return }
    let full = capacity(among: amounts.count)
    let gain = (uptime - last) / .seconds(1) * perSecond * part(among: amounts.count)
    amounts = amounts.mapValues { $0 + gain }.filter { $0.value < full }
  }

  /// The amount that a sharer may still take. Not positive if earlier ones have spent it.
  func available(to sharer: Sharer) -> Double {
    let key = key(of: sharer)
    let count = amounts.count + (amounts[key] == nil ? 1 : 0)
    return min(amounts[key] ?? .infinity, capacity(among: count))
  }

  /// Takes an amount that was used. The share can become negative; it refills from there.
  mutating func take(_ amount: Int, by sharer: Sharer) {
    let rest = available(to: sharer) - Double(amount)
    amounts[key(of: sharer)] = rest
  }

  /// Takes 1.
  ///
  /// - Returns: false if less is left.
  mutating func takeOne(by sharer: Sharer) -> Bool {
    guard available(to: sharer) >= 1 else { return false }
    take(1, by: sharer)
    return true
  }

  private func key(of sharer: Sharer) -> Key {
    let isKnown = amounts[.one(sharer)] != nil
    return isKnown || amounts.count < FairAllowance.sharersMax ? .one(sharer) : .others
  }

  private func part(among count: Int) -> Double { min(1, fullShares / Double(max(1, count))) }

  /// The amount of a full share, which lets everybody do at least one thing.
  private func capacity(among count: Int) -> Double { max(1, burst * part(among: count)) }
}
