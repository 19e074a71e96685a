import NodeSamples
import Testing
import WidgetDrawing
import WidgetModel

@Suite struct SansTextMeasureTests {
  private static let font = ThemeFont(size: 16)

  /// In 1/64 of a point. Helvetica has the same widths.
  @Test(arguments: [
    ("", 0), ("i", 228), ("M", 853), ("0", 570), ("é", 570), ("日", 1024), ("👍🏽", 1280),
    ("\u{301}", 0),
  ])
  func `text is as wide as the font says`(text: String, width: Int) {
    #expect(SansTextMeasure().width(of: text[...], font: Self.font) == width)
  }

  @Test func `bold text is wider, monospaced text has columns`() {
    let measure = SansTextMeasure()
    #expect(
      measure.width(of: "Hello", font: ThemeFont(size: 16, weight: .bold))
        > measure.width(of: "Hello", font: Self.font))
    let mono = ThemeFont(size: 16, isMonospaced: true)
    #expect(measure.width(of: "iiii", font: mono) == measure.width(of: "MMMM", font: mono))
  }
}
