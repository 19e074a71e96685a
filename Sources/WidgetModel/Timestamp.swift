/// A point in time: seconds and nanoseconds since 1970-01-01T00:00:00Z, without leap seconds.
///
/// The range is years 1 to 9999, as in `google.protobuf.Timestamp`. The domain never reads a clock;
/// its callers give the time.
public struct Timestamp: Hashable, Comparable, Sendable {
  /// Whole seconds since the epoch, rounded down; negative before 1970.
  public let seconds: Int64
  /// 0 to 999,999,999.
  public let nanoseconds: Int32

  /// The earliest one: 0001-01-01T00:00:00Z.
  public static let earliest = Timestamp(uncheckedSeconds: -62_135_596_800, nanoseconds: 0)
  /// The latest one: 9999-12-31T23:59:59.999999999Z.
  public static let latest = Timestamp(uncheckedSeconds: 253_402_300_799, nanoseconds: 999_999_999)
  /// 1970-01-01T00:00:00Z.
  public static let epoch = Timestamp(uncheckedSeconds: 0, nanoseconds: 0)

  private init(uncheckedSeconds: Int64, nanoseconds: Int32) {
    self.seconds = uncheckedSeconds
    self.nanoseconds = nanoseconds
  }

  /// Returns nil outside years 1 to 9999, or if `nanoseconds` is not in 0..<10^9.
  public init?(seconds: Int64, nanoseconds: Int32) {
    guard (0..<1_000_000_000).contains(nanoseconds),
      seconds >= Timestamp.earliest.seconds, seconds <= Timestamp.latest.seconds
    else { return nil }
    self.init(uncheckedSeconds: seconds, nanoseconds: nanoseconds)
  }

  /// The time this many nanoseconds after 1970. Every `Int64` is within range.
  public init(nanosecondsSinceEpoch total: Int64) {
    let (quotient, remainder) = total.quotientAndRemainder(dividingBy: 1_000_000_000)
    let borrow: Int64 = remainder < 0 ? 1 : 0
    self.init(
      uncheckedSeconds: quotient - borrow,
      nanoseconds: Int32(remainder + borrow * 1_000_000_000))
  }

  /// Nanoseconds since 1970, clamped to the range of `Int64` (years 1677 to 2262).
  public var nanosecondsSinceEpoch: Int64 {
    // Before 1970 the fraction counts down from the next second, so that no intermediate result is
    // further from 0 than the sum.
    let borrow: Int64 = seconds < 0 && nanoseconds > 0 ? 1 : 0
    let (product, overflow) = (seconds + borrow).multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, carried) = product.addingReportingOverflow(
      Int64(nanoseconds) - borrow * 1_000_000_000)
    guard !overflow, !carried else { return seconds < 0 ? .min : .max }
    return sum
  }

  /// The same time without the fraction of a second, rounded down.
  package var wholeSeconds: Timestamp { Timestamp(uncheckedSeconds: seconds, nanoseconds: 0) }

  public static func < (a: Timestamp, b: Timestamp) -> Bool {
    (a.seconds, a.nanoseconds) < (b.seconds, b.nanoseconds)
  }

  /// The time `duration` later, clamped to the range of this type.
  public func advanced(by duration: Duration) -> Timestamp {
    let (wholeSeconds, attoseconds) = duration.components
    var nanos = Int64(nanoseconds) + attoseconds / 1_000_000_000
    var carry: Int64 = 0
    if nanos < 0 { (nanos, carry) = (nanos + 1_000_000_000, -1) }
    if nanos >= 1_000_000_000 { (nanos, carry) = (nanos - 1_000_000_000, 1) }
    let (sum, overflow) = seconds.addingReportingOverflow(wholeSeconds)
    guard !overflow, let result = Timestamp(seconds: sum &+ carry, nanoseconds: Int32(nanos))
    else { return duration < .zero ? .earliest : .latest }
    return result
  }

  /// The time from `earlier` to this.
  public func duration(since earlier: Timestamp) -> Duration {
    .seconds(seconds - earlier.seconds) + .nanoseconds(Int64(nanoseconds - earlier.nanoseconds))
  }
}
