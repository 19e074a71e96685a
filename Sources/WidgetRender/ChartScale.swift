/// The range of numbers of a chart or gauge.
public struct ChartScale: Hashable, Sendable {
  public let low: Double
  public let high: Double

  /// Nil unless `low` is below `high` and their difference is finite.
  public init?(_ low: Double, _ high: Double) {
    guard low < high, (high - low).isFinite else { return nil }
    (self.low, self.high) = (low, high)
  }

  /// The scale of some values. Its ends can be given. Nil if all values are equal.
  public init?(of values: [Double?], low: Double? = nil, high: Double? = nil) {
    let finite = values.compactMap { $0 }.filter(\.isFinite)
    self.init(low ?? finite.min() ?? 0, high ?? finite.max() ?? 0)
  }

  /// The scale of a bar chart. It includes 0, because the length of a bar is its value, unless an
  /// end is given. Nil if its ends leave no range.
  public init?(ofBars values: [Double?], low: Double? = nil, high: Double? = nil) {
    let finite = values.compactMap { $0 }.filter(\.isFinite)
    self.init(low ?? min(finite.min() ?? 0, 0), high ?? max(finite.max() ?? 0, 0))
  }

  /// The place of a value on the scale, 0 to 1; nil for NaN.
  public func share(of value: Double) -> Double? {
    value.isNaN ? nil : min(max((value - low) / (high - low), 0), 1)
  }
}
