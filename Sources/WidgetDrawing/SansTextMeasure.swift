public import WidgetLayout
public import WidgetModel

/// Measures text in a common sans-serif font. A table of widths replaces the font.
///
/// The table has the widths of Liberation Sans, which equal those of Arial, Arimo and Helvetica. Other
/// characters have a fixed width: emoji, two-column and one-column characters have one each. A column of
/// monospaced text is 0.6 of the font's size wide.
public struct SansTextMeasure: TextMeasure {
  /// The distance between two baselines, as a multiple of the font's size.
  static let lineHeight = 1.25
  /// The distance from the top of a line to its baseline, as a multiple of the font's size. The value
  /// centres the text.
  static let baseline = 0.97
  /// The widths of characters outside the table, as multiples of the font's size.
  private static let emojiWidth = 1.25
  private static let wideWidth = 1.0
  private static let otherWidth = 0.62
  static let monospacedWidth = 0.6
  private static let unitsPerEm = 2048.0

  public init() {}

  public func width(of text: Substring, font: ThemeFont) -> Int {
    var ems = 0.0
    for character in text { ems += Self.ems(character, font) }
    return Int((ems * font.size * Double(LayoutMetrics.unitsPerPoint)).rounded(.up))
  }

  public func lineHeight(of font: ThemeFont) -> Int {
    max(1, Int((font.size * Self.lineHeight).rounded()) * LayoutMetrics.unitsPerPoint)
  }

  private static func ems(_ character: Character, _ font: ThemeFont) -> Double {
    if font.isMonospaced { return monospacedWidth * Double(TextColumns.width(of: character)) }
    guard let first = character.unicodeScalars.first else { return 0 }
    let isEmoji =
      first.properties.isEmojiPresentation || character.unicodeScalars.contains("\u{FE0F}")
    if isEmoji { return emojiWidth }
    if let units = units(first, isBold: font.weight == .bold), units > 0 {
      return Double(units) / unitsPerEm
    }
    switch TextColumns.width(of: character) {
    case 0: return 0
    case 1: return otherWidth
    default: return wideWidth
    }
  }

  private static func units(_ scalar: Unicode.Scalar, isBold: Bool) -> UInt16? {
    var start = 0
    for (first, last) in AdvanceTable.ranges {
      guard scalar.value >= first else { return nil }
      if scalar.value <= last {
        let place = start + Int(scalar.value - first)
        return isBold ? AdvanceTable.bold[place] : AdvanceTable.regular[place]
      }
      start += Int(last - first) + 1
    }
    return nil
  }
}
