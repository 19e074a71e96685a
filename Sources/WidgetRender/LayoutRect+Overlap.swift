import WidgetLayout

extension LayoutRect {
  /// The intersection of two rectangles. Empty if they share nothing. Numbers that are too large do
  /// not trap.
  func overlap(_ other: LayoutRect) -> LayoutRect {
    let left = max(x, other.x)
    let top = max(y, other.y)
    let right = min(LayoutRect.end(x, width), LayoutRect.end(other.x, other.width))
    let bottom = min(LayoutRect.end(y, height), LayoutRect.end(other.y, other.height))
    guard left < right, top < bottom else { return LayoutRect(x: x, y: y, width: 0, height: 0) }
    return LayoutRect(x: left, y: top, width: right - left, height: bottom - top)
  }

  /// The end of a span, without a trap for numbers that are too large.
  private static func end(_ start: Int, _ length: Int) -> Int {
    let (end, overflow) = start.addingReportingOverflow(max(length, 0))
    return overflow ? .max : end
  }
}
