import CCairo
import Synchronization
public import WidgetDrawing
import WidgetModel
import WidgetRender

#if canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The reason why a picture cannot be made.
public enum CairoFailure: Error, Hashable, Sendable, CustomStringConvertible {
  /// cairo or pango is not installed.
  case librariesMissing
  /// The picture would have more pixels than `PixelImage.pixelsMax`.
  case tooLarge(pixels: Int)
  /// A side of the picture would have more pixels than `CairoPainter.sideMax`.
  case tooLong(pixels: Int)
  case outOfMemory

  public var description: String {
    switch self {
    case .librariesMissing:
      "PNG needs cairo and pango; install them with "
        + "\"sudo apt install libcairo2 libpangocairo-1.0-0\", or use --format svg"
    case .tooLarge(let pixels):
      "the picture would have \(pixels) pixels, and at most \(PixelImage.pixelsMax) are allowed; "
        + "use a smaller --scale, or fewer widgets"
    case .tooLong(let pixels):
      "a side of the picture would have \(pixels) pixels, and at most \(CairoPainter.sideMax) are "
        + "allowed; use a smaller --scale, or fewer widgets"
    case .outOfMemory: "there is no memory for the picture; use a smaller --scale"
    }
  }
}

/// Paints drawings as pixels, with cairo and pango. The first use loads the libraries.
public enum CairoPainter {
  /// The maximum width and height of a picture in pixels, which is cairo's maximum.
  public static let sideMax = PNGDecoder.sideMax

  /// Whether cairo and pango are installed.
  public static var isAvailable: Bool { ccairo_is_available() }

  /// Only one thread at a time uses cairo and pango. A thread's default font map has no lock, and
  /// layouts of other threads share it.
  private static let turn = Mutex(())

  /// Runs `body` while no other thread uses cairo or pango.
  static func alone<R: ~Copyable, E: Error>(_ body: () throws(E) -> sending R) throws(E)
    -> sending R
  {
    try turn.withLock { (_) throws(E) in try body() }
  }

  /// The bytes of a PNG file. The area around the cards is transparent.
  ///
  /// - Parameter scale: Pixels per point.
  public static func png(of drawing: Drawing, scale: Double) throws(CairoFailure) -> [UInt8] {
    guard isAvailable else { throw .librariesMissing }
    let (wide, high) = (
      (drawing.width * scale).rounded(.up), (drawing.height * scale).rounded(.up)
    )
    guard wide * high <= Double(PixelImage.pixelsMax) else {
      throw .tooLarge(pixels: Int(min(wide * high, 1e15)))
    }
    guard max(wide, high) <= Double(sideMax) else { throw .tooLong(pixels: Int(max(wide, high))) }
    return try alone { () throws(CairoFailure) in
      try bytes(of: drawing, scale: scale, wide: wide, high: high)
    }
  }

  private static func bytes(
    of drawing: Drawing, scale: Double, wide: Double, high: Double
  ) throws(CairoFailure) -> [UInt8] {
    guard let cairo = ccairo_new(Int32(max(wide, 1)), Int32(max(high, 1)), scale) else {
      throw .outOfMemory
    }
    defer { ccairo_free(cairo) }
    for mark in drawing.marks { paint(mark, cairo) }
    var count = 0
    guard let bytes = ccairo_png(cairo, &count) else { throw .outOfMemory }
    defer { free(bytes) }
    return Array(UnsafeBufferPointer(start: bytes, count: count))
  }

  private static func paint(_ mark: Mark, _ cairo: OpaquePointer) {
    switch mark {
    case .rectangle(let rect, let corner, let paint):
      ccairo_rectangle(cairo, rect.x, rect.y, rect.width, rect.height, corner)
      finish(paint, cairo)
    case .path(let points, let isClosed, let paint):
      guard let first = points.first else { return }
      ccairo_move(cairo, first.x, first.y)
      for point in points.dropFirst() { ccairo_line(cairo, point.x, point.y) }
      if isClosed { ccairo_close(cairo) }
      finish(paint, cairo)
    case .arc(let center, let radius, let from, let to, let paint):
      let angle = { (turns: Double) in (turns - 0.25) * 2 * Double.pi }
      ccairo_arc(cairo, center.x, center.y, radius, angle(from), angle(to))
      finish(paint, cairo)
    case .text(let mark): text(mark, cairo)
    case .image(let mark): image(mark, cairo)
    case .group(let group):
      ccairo_save(cairo)
      if let clip = group.clip {
        ccairo_rectangle(cairo, clip.x, clip.y, clip.width, clip.height, group.clipCorner)
        ccairo_clip(cairo)
      }
      if group.opacity < 1 { ccairo_begin_group(cairo) }
      for mark in group.marks { paint(mark, cairo) }
      if group.opacity < 1 { ccairo_end_group(cairo, group.opacity) }
      ccairo_restore(cairo)
    }
  }

  private static func finish(_ paint: Paint, _ cairo: OpaquePointer) {
    var fill = paint.fill.map(color) ?? ccairo_color()
    var stroke = paint.stroke.map(color) ?? ccairo_color()
    withUnsafePointer(to: &fill) { fill in
      withUnsafePointer(to: &stroke) { stroke in
        ccairo_paint(
          cairo, paint.fill == nil ? nil : fill, paint.stroke == nil ? nil : stroke,
          paint.lineWidth, paint.isRound)
      }
    }
  }

  private static func color(_ color: ThemeColor) -> ccairo_color {
    ccairo_color(
      red: Double(color.red) / 255, green: Double(color.green) / 255,
      blue: Double(color.blue) / 255, alpha: Double(color.alpha) / 255)
  }

  private static func text(_ mark: TextMark, _ cairo: OpaquePointer) {
    var color = color(mark.color)
    withFont(mark.font) { font in
      ccairo_text(
        cairo, mark.text, mark.text.utf8.count, &font, mark.frame.x,
        mark.frame.y + mark.baseline, mark.frame.width, &color, mark.isUnderlined,
        mark.isStruckThrough)
    }
  }

  private static func image(_ mark: ImageMark, _ cairo: OpaquePointer) {
    guard let image = try? PNGDecoder.image(mark.image.png, pixelsMax: PixelImage.pixelsMax) else {
      return
    }
    var words: [UInt32] = []
    words.reserveCapacity(image.width * image.height)
    for at in stride(from: 0, to: image.rgba.count, by: 4) {
      let alpha = UInt32(image.rgba[at + 3])
      let part = { (offset: Int) in (UInt32(image.rgba[at + offset]) * alpha + 127) / 255 }
      words.append(alpha << 24 | part(0) << 16 | part(1) << 8 | part(2))
    }
    let frame = mark.frame
    let (wide, high) = (
      frame.width / Double(image.width), frame.height / Double(image.height)
    )
    let factor = mark.mode == .fit ? min(wide, high) : max(wide, high)
    let (width, height) = (Double(image.width) * factor, Double(image.height) * factor)
    ccairo_save(cairo)
    ccairo_rectangle(cairo, frame.x, frame.y, frame.width, frame.height, 0)
    ccairo_clip(cairo)
    ccairo_image(
      cairo, words, Int32(image.width), Int32(image.height), frame.center.x - width / 2,
      frame.center.y - height / 2, width, height)
    ccairo_restore(cairo)
  }
}

/// Calls `body` with a font in its C form.
func withFont<R>(_ font: ThemeFont, _ body: (inout ccairo_font) -> R) -> R {
  let family = font.isMonospaced ? SVGEncoder.monospacedFontFamily : SVGEncoder.fontFamily
  return family.withCString { name in
    let weight: Int32 =
      switch font.weight {
      case .light: 300
      case .regular: 400
      case .bold: 700
      }
    var value = ccairo_font(
      family: name, size: font.size, weight: weight, is_italic: font.isItalic)
    return body(&value)
  }
}
