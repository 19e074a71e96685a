public import WidgetModel

/// The measures of one layout: the size of a point, the size of text, and the text of dates.
public struct LayoutMetrics: Sendable {
  /// The unit of lengths.
  public enum Scale: Hashable, Sendable {
    /// A cell of a terminal, which counts as 8 by 16 points.
    case cells
    /// 1/64 of a point.
    case points
  }

  public var scale: Scale
  public var measure: any TextMeasure {
    didSet { measuresColumns = measure is CellTextMeasure }
  }
  /// The values of tokens.
  public var theme: Theme
  /// The text of a date. When the text changes, tell the engine which nodes to invalidate.
  public var dateText: @Sendable (Node) -> String
  /// Whether links show their addresses. Set it to false if users can open links in another way.
  public var showsURLs = true
  /// Whether icons are drawn by their names. If not, a button without text shows the name of its
  /// icon.
  public var drawsIcons: Bool

  public init(
    scale: Scale, measure: any TextMeasure, theme: Theme = .standard,
    dateText: @escaping @Sendable (Node) -> String
  ) {
    (self.scale, self.measure, self.theme, self.dateText) = (scale, measure, theme, dateText)
    measuresColumns = measure is CellTextMeasure
    drawsIcons = scale == .points
  }

  /// Whether text is measured in columns. A stored property is faster than a call.
  private(set) var measuresColumns: Bool

  func width(of text: String, font: ThemeFont) -> Int {
    measuresColumns ? TextColumns.width(of: text) : measure.width(of: text[...], font: font)
  }

  /// For a terminal.
  public static func cells(
    theme: Theme = .standard, dateText: @escaping @Sendable (Node) -> String = { _ in "" }
  ) -> LayoutMetrics {
    LayoutMetrics(scale: .cells, measure: CellTextMeasure(), theme: theme, dateText: dateText)
  }

  /// Units of a point, in the scale `points`.
  public static let unitsPerPoint = 64
  static let cellWidthPoints = 8.0
  static let cellHeightPoints = 16.0

  /// Points along the horizontal axis in units, rounded half up.
  public func horizontal(_ points: Double) -> Int { units(points, perCell: Self.cellWidthPoints) }

  /// Points along the vertical axis in units, rounded half up.
  public func vertical(_ points: Double) -> Int { units(points, perCell: Self.cellHeightPoints) }

  private func units(_ points: Double, perCell: Double) -> Int {
    guard points > 0 else { return 0 }
    let limited = min(points, PropertyType.lengthMax)
    let units = scale == .cells ? limited / perCell : limited * Double(Self.unitsPerPoint)
    return units.nearest
  }
}

extension Double {
  /// The nearest whole number, for numbers from 0 that are not huge. A half is rounded up. The
  /// method needs no mathematics library.
  var nearest: Int { Int(self + 0.5) }
}
