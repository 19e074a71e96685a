public import WidgetModel

/// The size of text, in the units of a layout.
///
/// Widths add up: the width of a text is that of its grapheme clusters together, except for
/// rounding.
public protocol TextMeasure: Sendable {
  /// The width of a text without line breaks.
  func width(of text: Substring, font: ThemeFont) -> Int
  /// The distance from one line to the next. At least 1.
  func lineHeight(of font: ThemeFont) -> Int
}

/// Text in a terminal: a column for each narrow character, and one row for a line, whatever the font.
public struct CellTextMeasure: TextMeasure {
  public init() {}
  public func width(of text: Substring, font: ThemeFont) -> Int { TextColumns.width(of: text) }
  public func lineHeight(of font: ThemeFont) -> Int { 1 }
}
