public import WidgetModel

/// The rules of one time zone: the offsets from UTC, their names and their periods.
///
/// Parsed from a TZif file by ``init(tzif:)``, for example the bytes of
/// `/usr/share/zoneinfo/Europe/Berlin`. The host reads the file.
public struct TimeZoneRules: Hashable, Sendable {
  /// An offset that holds for a while.
  public struct Period: Hashable, Sendable {
    /// Seconds east of UTC.
    public let offsetSeconds: Int
    /// `CET`, `CEST`, `+0530`.
    public let abbreviation: String
    public let isDaylightSaving: Bool
  }

  /// When a period begins, in seconds since 1970, ascending.
  let transitions: [Int64]
  /// For each transition the period that begins, as an index.
  let kinds: [UInt8]
  let periods: [Period]
  /// The rule after the last transition.
  let footer: PosixZone?

  /// UTC.
  public static let utc = TimeZoneRules(offsetSeconds: 0, abbreviation: "UTC")

  /// A zone that never changes.
  public init(offsetSeconds: Int, abbreviation: String) {
    transitions = []
    kinds = []
    periods = [
      Period(
        offsetSeconds: offsetSeconds, abbreviation: abbreviation, isDaylightSaving: false)
    ]
    footer = nil
  }

  init(transitions: [Int64], kinds: [UInt8], periods: [Period], footer: PosixZone?) {
    self.transitions = transitions
    self.kinds = kinds
    self.periods = periods
    self.footer = footer
  }

  /// The period at a time. O(log n).
  public func period(at timestamp: Timestamp) -> Period { period(atSeconds: timestamp.seconds) }

  func period(atSeconds seconds: Int64) -> Period {
    var (low, high) = (0, transitions.count)
    while low < high {
      let middle = (low + high) / 2
      if transitions[middle] <= seconds { low = middle + 1 } else { high = middle }
    }
    if low == transitions.count, let footer { return footer.period(atSeconds: seconds) }
    if low > 0 { return periods[Int(kinds[low - 1])] }
    return periods.first { !$0.isDaylightSaving } ?? periods[0]
  }

  /// The offset for a local clock time. If the clocks repeat the time, the offset of the earlier
  /// moment. If the clocks skip the time, the offset before the change.
  func offset(forLocalSeconds local: Int64) -> Int {
    // Every offset is within a day, so these two periods surround the time.
    let before = period(atSeconds: local - 86_400).offsetSeconds
    let after = period(atSeconds: local + 86_400).offsetSeconds
    for offset in [before, after]
    where period(atSeconds: local - Int64(offset)).offsetSeconds == offset {
      return offset
    }
    return before
  }
}
