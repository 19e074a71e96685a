import WidgetCore
import WidgetModel

extension RunningTime {
  /// The values for the two columns of a row.
  var stored: (seconds: Int64, nanoseconds: Int64) {
    let (seconds, attoseconds) = elapsed.components
    return (seconds, attoseconds / 1_000_000_000)
  }

  /// The value for one column, which has room for 292 years.
  var storedNanoseconds: Int64 { elapsed.nanoseconds }

  /// nil if no log can have written the columns.
  init?(seconds: Int64, nanoseconds: Int64) {
    guard seconds >= 0, 0..<1_000_000_000 ~= nanoseconds else { return nil }
    self.init(elapsed: .seconds(seconds) + .nanoseconds(nanoseconds))
  }
}

extension Duration {
  /// Whole milliseconds, within SQLite's range.
  var milliseconds: Int32 {
    let (seconds, attoseconds) = components
    guard seconds < 1_000_000 else { return .max }
    return Int32(max(0, seconds * 1_000 + attoseconds / 1_000_000_000_000_000))
  }
}
