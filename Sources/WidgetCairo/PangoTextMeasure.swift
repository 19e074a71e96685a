import CCairo
import Synchronization
import WidgetDrawing
public import WidgetLayout
public import WidgetModel

/// Measures text in the fonts of this machine, as pango draws it. Threads that share an object wait
/// for each other.
public final class PangoTextMeasure: TextMeasure {
  /// The maximum number of scalars that pango measures at once. Pango counts widths in 1/1024 of a
  /// point with 32 bits. In the largest font, more than 5000 wide characters overflow.
  private static let scalarsMax = 1_024

  private let canvas: Mutex<Canvas>
  private let lines = SansTextMeasure()

  public init() throws(CairoFailure) {
    guard CairoPainter.isAvailable else { throw .librariesMissing }
    guard let canvas = Canvas() else { throw .outOfMemory }
    self.canvas = Mutex(canvas)
  }

  public func width(of text: Substring, font: ThemeFont) -> Int {
    guard !text.isEmpty else { return 0 }
    let points = canvas.withLock { canvas in
      var points = 0.0
      var rest = text.unicodeScalars
      while !rest.isEmpty {
        points += canvas.width(of: String(rest.prefix(Self.scalarsMax)), font)
        rest = rest.dropFirst(Self.scalarsMax)
      }
      return points
    }
    return Int((points * Double(LayoutMetrics.unitsPerPoint)).rounded(.up))
  }

  public func lineHeight(of font: ThemeFont) -> Int { lines.lineHeight(of: font) }
}

/// A picture of one pixel, for measuring only.
private struct Canvas: ~Copyable {
  private let cairo: OpaquePointer

  init?() {
    guard let cairo = CairoPainter.alone({ ccairo_new(1, 1, 1) }) else { return nil }
    self.cairo = cairo
  }

  deinit { CairoPainter.alone { ccairo_free(cairo) } }

  /// In points.
  func width(of text: String, _ font: ThemeFont) -> Double {
    CairoPainter.alone {
      withFont(font) { ccairo_text_width(cairo, text, text.utf8.count, &$0) }
    }
  }
}
