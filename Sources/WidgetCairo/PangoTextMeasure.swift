import CCairo
import Synchronization
import WidgetDrawing
public import WidgetLayout
public import WidgetModel

/// Measures text in the fonts of this machine, as pango draws it.
public final class PangoTextMeasure: TextMeasure, @unchecked Sendable {
  /// Used only while the lock is held.
  private let cairo: OpaquePointer
  private let lock = Mutex(())
  private let lines = SansTextMeasure()

  public init() throws(CairoFailure) {
    guard CairoPainter.isAvailable else { throw .librariesMissing }
    guard let cairo = ccairo_new(1, 1, 1) else { throw .outOfMemory }
    self.cairo = cairo
  }

  deinit { ccairo_free(cairo) }

  public func width(of text: Substring, font: ThemeFont) -> Int {
    guard !text.isEmpty else { return 0 }
    let text = String(text)
    let points = lock.withLock { _ in
      withFont(font) { ccairo_text_width(cairo, text, text.utf8.count, &$0) }
    }
    return Int((points * Double(LayoutMetrics.unitsPerPoint)).rounded(.up))
  }

  public func lineHeight(of font: ThemeFont) -> Int { lines.lineHeight(of: font) }
}
