import WidgetCore
import WidgetModel

extension RunningTime {
  /// In the two columns of a row.
  var stored: (seconds: Int64, nanoseconds: Int64) {
    let (seconds, attoseconds) = elapsed.components
    return (seconds, attoseconds / 1_000_000_000)
  }

  /// In one column; there is room for 292 years.
  var storedNanoseconds: Int64 {
    let (product, isOver) = stored.seconds.multipliedReportingOverflow(by: 1_000_000_000)
    return isOver ? .max : product.addingReportingOverflow(stored.nanoseconds).partialValue
  }

  /// nil for columns that no log has written.
  init?(seconds: Int64, nanoseconds: Int64) {
    guard seconds >= 0, 0..<1_000_000_000 ~= nanoseconds else { return nil }
    self.init(elapsed: .seconds(seconds) + .nanoseconds(nanoseconds))
  }
}

extension Duration {
  /// Whole milliseconds, within what SQLite takes.
  var milliseconds: Int32 {
    let (seconds, attoseconds) = components
    guard seconds < 1_000_000 else { return .max }
    return Int32(max(0, seconds * 1_000 + attoseconds / 1_000_000_000_000_000))
  }
}
