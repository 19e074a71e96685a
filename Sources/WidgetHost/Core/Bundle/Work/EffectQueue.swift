/// The effects of one round of a bundle, in order.
struct EffectQueue: Sendable {
  private var effects: [Effect] = []

  mutating func append(_ effect: Effect) { effects.append(effect) }

  /// Ends the round.
  ///
  /// - Parameter trace: the effect that describes the others, if there is one. It comes before
  ///   them.
  mutating func takeAll(after trace: Effect?) -> [Effect] {
    defer { effects = [] }
    return (trace.map { [$0] } ?? []) + effects
  }
}
