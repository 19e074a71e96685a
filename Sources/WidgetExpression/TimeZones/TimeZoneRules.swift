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
    let next = transitions.firstIndex(after: seconds)
    if next == transitions.count, let footer { return footer.period(atSeconds: seconds) }
    return period(before: next)
  }

  /// The period that ends with a transition.
  private func period(before transition: Int) -> Period {
    if transition > 0 { return periods[Int(kinds[transition - 1])] }
    return periods.first { !$0.isDaylightSaving } ?? periods[0]
  }

  /// A time around a second in which the offset stays the same. It need not be the longest one.
  package struct Span: Hashable, Sendable {
    /// Seconds east of UTC.
    package let offset: Int
    /// The first second, in seconds since 1970.
    package let start: Int
    /// The second after the last one.
    package let end: Int

    /// The start of a span without a beginning, and the end of one without an end.
    static let bound = 1 << 60
  }

  /// The span around a second. O(log n).
  package func span(at seconds: Int) -> Span {
    let next = transitions.firstIndex(after: Int64(seconds))
    let start = next > 0 ? Int(transitions[next - 1]) : -Span.bound
    guard next < transitions.count || footer == nil else {
      let span = footer?.span(at: seconds) ?? Span(offset: 0, start: start, end: Span.bound)
      return Span(offset: span.offset, start: max(start, span.start), end: span.end)
    }
    return Span(
      offset: period(before: next).offsetSeconds, start: start,
      end: next < transitions.count ? Int(transitions[next]) : Span.bound)
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

extension [Int64] {
  /// The index of the first element that is greater than a value, in an ascending array.
  fileprivate func firstIndex(after value: Int64) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if self[middle] <= value { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
